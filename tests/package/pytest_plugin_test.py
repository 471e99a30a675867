"""The plugin, in a pytest of its own."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import FLOAT, INPUTS, INT8


class Plugin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_pytest(self, code, *arguments):
        (self.folder / "export_test.py").write_text(code)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )

    def test_a_comparison_that_passes(self):
        result = self.run_pytest(f"""
def test_export(vernier):
    vernier.assert_same({FLOAT!r}, {FLOAT!r}, {INPUTS!r}, samples=2)
    vernier.assert_same_layers({FLOAT!r}, {FLOAT!r})
""")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_one_that_fails_shows_and_keeps_its_report(self):
        result = self.run_pytest(f"""
def test_export(vernier):
    vernier.assert_same({FLOAT!r}, {INT8!r}, {INPUTS!r}, samples=2, fail_if="sqnr_db<90")
""")
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAIL: output logits: sqnr_db", result.stdout)
        self.assertEqual(len(list(self.folder.glob(".pytest_cache/d/vernier/*test_export.html"))), 1)


if __name__ == "__main__":
    unittest.main()
