"""The pre-commit hook and the GitHub Action only call the command, and end as it does:
`integrations_test.py VERNIER`."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"


class Integrations(unittest.TestCase):
    vernier = None

    def run_shell(self, command, **variables):
        path = f"{self.vernier.parent}:{os.environ['PATH']}"
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path, **variables})

    def test_the_hook_checks_every_file(self):
        entry = re.search(r"entry: (.*)", (ROOT / ".pre-commit-hooks.yaml").read_text()).group(1)
        sound, broken = FIXTURES / "mnist/mnist_cnn.onnx", FIXTURES / "bad/unknown_op.onnx"
        for files, code in (([sound], 0), ([sound, broken], 1), ([broken, sound], 1)):
            with self.subTest(files=files):
                result = self.run_shell([*shlex.split(entry), *files])
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(files[-1].name, result.stdout)

    def test_the_action_runs_the_command_and_keeps_its_report(self):
        step = (ROOT / "action.yml").read_text().split("run: |\n")[1].split("      env:")[0]
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            command = f"check {FIXTURES / 'bad/unknown_op.onnx'}"
            result = self.run_shell(["bash", "-ec", step], VERNIER_COMMAND=command, VERNIER_REPORT=str(page))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertTrue(page.exists())
            result = self.run_shell(["bash", "-ec", step], VERNIER_COMMAND="--version", VERNIER_REPORT="")
            self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    Integrations.vernier = Path(sys.argv.pop(1)).resolve()
    unittest.main()
