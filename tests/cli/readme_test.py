"""The console sessions of README.md and docs/*.md are run, and must print what the page shows.

In a ```console block, a line "$ command" (continued after a backslash) is run by bash at the root
of the repository, in a copy that may be written to; the lines after it are what it prints, stderr
included. A line "..." stands for any number of lines. Numbers with a decimal point may differ by a
quarter, and spaces with them: other processors and versions of ONNX Runtime round differently. After
a command with --exact only the order of float32 sums differs: they may differ by 2 in a thousand.
The comment <!-- needs torch --> above a block skips it where Vernier was built without libtorch.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from math import isclose
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- needs torch -->\s*)?^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
END_OF_OUTPUT = "\x04"
LOOSE = 0.25
EXACT = 0.002


def sessions(text):
    """(needs torch, [(command, expected lines)]) for each console block."""
    for needs_torch, block in BLOCK.findall(text):
        steps = []
        for line in block.splitlines():
            if steps and steps[-1][0].endswith("\\"):
                steps[-1] = (f"{steps[-1][0]}\n{line}", [])
            elif line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        yield bool(needs_torch), steps


def run(commands, folder, vernier):
    """What each command prints, as lines. One shell runs them all, so `echo $?` works."""
    script = "".join(f'{command}\nstatus=$?; printf "{END_OF_OUTPUT}"; (exit $status)\n'
                     for command in commands)
    environment = {**os.environ, "PATH": f"{vernier.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    output = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return [part.splitlines() for part in output.split(END_OF_OUTPUT)[:-1]]


def tolerance(command):
    return EXACT if "--exact" in command else LOOSE


def same_word(expected, printed, rel_tol):
    if expected == printed:
        return True
    texts = [DECIMAL.sub("0", word) for word in (expected, printed)]
    pairs = zip(DECIMAL.findall(expected), DECIMAL.findall(printed))
    return texts[0] == texts[1] and all(isclose(float(e), float(p), rel_tol=rel_tol) for e, p in pairs)


def same_line(expected, printed, rel_tol):
    expected, printed = expected.split(), printed.split()
    return len(expected) == len(printed) and all(
        same_word(e, p, rel_tol) for e, p in zip(expected, printed))


def matches(expected, printed, rel_tol=LOOSE):
    if "..." not in expected:
        return len(expected) == len(printed) and all(
            same_line(e, p, rel_tol) for e, p in zip(expected, printed))
    gap = expected.index("...")
    return matches(expected[:gap], printed[:gap], rel_tol) and any(
        matches(expected[gap + 1:], printed[start:], rel_tol)
        for start in range(gap, len(printed) + 1))


class Pages(unittest.TestCase):
    vernier = None
    maxDiff = None

    def printed(self, steps):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("tests", "docs"):
                (Path(folder) / name).symlink_to(ROOT / name)
            return run([command for command, _ in steps], folder, self.vernier)

    def test_every_session_prints_what_the_page_shows(self):
        version = subprocess.run([self.vernier, "--version"], capture_output=True, text=True).stdout
        for page in PAGES:
            for needs_torch, steps in sessions(page.read_text(encoding="utf-8")):
                with self.subTest(page=page.name, command=steps[0][0]):
                    if needs_torch and "libtorch" not in version:
                        self.skipTest("built without libtorch")
                    for (command, expected), printed in zip(steps, self.printed(steps), strict=True):
                        if not matches(expected, printed, tolerance(command)):
                            self.assertEqual("\n".join(expected), "\n".join(printed), f"$ {command}")

    def test_a_session_is_commands_and_what_they_print(self):
        text = "<!-- needs torch -->\n```console\n$ printf 'a\\nb\\nc\\n'\na\n...\n$ (exit 3)\n$ echo $? \\\n  x\n3 x\n```\n"
        [(needs_torch, steps)] = sessions(text)
        self.assertTrue(needs_torch)
        printed = run([command for command, _ in steps], ROOT, self.vernier)
        self.assertEqual(printed, [["a", "b", "c"], [], ["3 x"]])
        self.assertTrue(all(matches(expected, lines) for (_, expected), lines in zip(steps, printed)))

    def test_other_output_does_not_match(self):
        self.assertFalse(matches(["a", "...", "c"], ["a", "b"]))
        self.assertFalse(matches(["a"], ["a", "b"]))
        self.assertFalse(matches([], ["a"]))

    def test_only_decimals_may_differ_and_only_a_little(self):
        self.assertTrue(matches(["x   27.30 [1.00,2]"], ["x 26.01 [1.11,2]"]))
        self.assertFalse(matches(["x 27.30"], ["x 39.30"]))
        self.assertFalse(matches(["x 27"], ["x 28"]))
        self.assertFalse(matches(["x 27.30"], ["y 27.30"]))

    def test_exact_arithmetic_may_differ_hardly_at_all(self):
        rel_tol = tolerance("vernier eval a.onnx --exact")
        self.assertTrue(matches(["x 27.30"], ["x 27.31"], rel_tol))
        self.assertFalse(matches(["x 27.30"], ["x 27.40"], rel_tol))


if __name__ == "__main__":
    Pages.vernier = Path(sys.argv.pop(1)).resolve()
    unittest.main()
