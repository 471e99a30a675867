"""`make test` says how many tests were skipped, and why."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/skipped.py"
PASSED = '<testcase name="a" status="run"><system-out>[ OK ] a</system-out></testcase>'
OF_GTEST = """<testcase name="b" status="run"><system-out>/x/b_test.cpp:12: Skipped
no model of that size

[  SKIPPED ] B.b (0 ms)
[==========] 3 tests from 1 test suite ran. (5 ms total)
[  PASSED  ] 2 tests.
</system-out></testcase>"""
PART_OF_UNITTEST = """<testcase name="c" status="run"><system-out>
test_x (__main__.Pages.test_x) (page='README.md') ... skipped 'built without libtorch'
ok
----------------------------------------------------------------------
Ran 4 tests in 0.001s
</system-out></testcase>"""
ELSEWHERE = """<testcase name="f" status="run"><system-out>
test_y (host_test.Host.test_y) ... {}
test_z (host_test.Host.test_z)
A sentence about it. ... {}
----------------------------------------------------------------------
Ran 2 tests in 0.001s
</system-out></testcase>"""
SCRIPT_THAT_SKIPS = """<testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: no python3 has PyTorch
</system-out></testcase>"""
SILENT = '<testcase name="e" status="notrun"><skipped message=""/><system-out></system-out></testcase>'


def said_of(*cases):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tests.xml"
        path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, path], check=True, capture_output=True, text=True).stdout


class Skipped(unittest.TestCase):
    def test_nothing_skipped_is_said_too(self):
        self.assertEqual(said_of(PASSED), "skipped: none of 1 tests\n")

    def test_reasons_are_counted_wherever_they_come_from(self):
        said = said_of(PASSED, OF_GTEST, OF_GTEST, PART_OF_UNITTEST, SCRIPT_THAT_SKIPS)
        self.assertEqual(said.splitlines()[0], "skipped: 4 of 12 tests, or of their parts:")
        for line in ("2  no model of that size", "1  built without libtorch", "1  no python3 has PyTorch"):
            self.assertIn(line, said)

    def test_what_another_interpreter_ran_was_run(self):
        old, new = ELSEWHERE.format("skipped 'PyTorch 1.13'", "skipped 'no timm'"), ELSEWHERE.format("ok", "ok")
        self.assertEqual(said_of(old, new), "skipped: none of 4 tests\n")
        said = said_of(old, ELSEWHERE.format("ok", "skipped 'no timm'"))
        self.assertEqual(said.splitlines(), ["skipped: 2 of 4 tests, or of their parts:", "      2  no timm"])

    def test_a_skipped_test_without_a_reason_counts(self):
        self.assertIn("1  no reason given", said_of(SILENT))


if __name__ == "__main__":
    unittest.main()
