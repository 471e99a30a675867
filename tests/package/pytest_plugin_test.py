"""The plugin, in a pytest of its own."""

import json
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
        self.assertRegex(result.stdout, "\nFAILED export_test.py::test_export - .*FAIL: output logits: sqnr_db")
        self.assertEqual(len(list(self.folder.glob(".pytest_cache/d/vernier/*test_export.html"))), 1)

    def test_a_baseline_is_written_when_asked_for_and_then_held(self):
        code = f"""
def test_export(vernier):
    vernier.assert_same({FLOAT!r}, {INT8!r}, {INPUTS!r}, samples=32)
"""
        baseline = self.folder / "vernier_baselines/export_test.py_test_export.json"
        result = self.run_pytest(code, "--vernier-update")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(self.run_pytest(code).returncode, 0)
        accepted = json.loads(baseline.read_text())
        accepted["figures"][0]["accepted"] += 10
        baseline.write_text(json.dumps(accepted))
        result = self.run_pytest(code)
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAIL: output logits: sqnr_db_mean", result.stdout)

    def test_a_baseline_belongs_to_its_file_and_to_one_set_of_parameters(self):
        code = f"""
import pytest

@pytest.mark.parametrize("which", ["a+b", "a*b"])
def test_export(vernier, which):
    vernier.assert_same({FLOAT!r}, {INT8!r}, {INPUTS!r}, samples=2)
"""
        (self.folder / "inner").mkdir()
        (self.folder / "inner" / "param_test.py").write_text(code)
        self.assertEqual(self.run_pytest("", "inner", "--vernier-update").returncode, 0)
        baselines = sorted((self.folder / "inner" / "vernier_baselines").iterdir())
        self.assertEqual(len(baselines), 2)
        for baseline in baselines:
            accepted = json.loads(baseline.read_text())
            accepted["figures"][0]["accepted"] += 10
            baseline.write_text(json.dumps(accepted))
        inside = [sys.executable, "-m", "pytest", "-q", "--rootdir", "."]
        result = subprocess.run(inside, cwd=self.folder / "inner", capture_output=True, text=True, check=False)
        self.assertIn("2 failed", result.stdout)


if __name__ == "__main__":
    unittest.main()
