"""Only analysis/verdict decides what a verdict's outcome is; everything else asks it."""

import re
import unittest

from source_tree import ROOT, sources

JUDGE = "vernier/analysis/verdict"
SETS = re.compile(r"[.>]outcome\s*=(?!=)(?!\s*parse_outcome\()")  # one that another run has written is read
ADDS = re.compile(r"\bdoubts\s*=(?!=)|[.>](?:doubts|failures)\.(?:push_back|emplace_back|insert)|erase_if\(\s*failures")
NAMES = re.compile(r"\b(?:vernier::)?Outcome::\w")
ASKS = re.compile(r"(?:\bcase|[=!]=)\s*$")  # what may stand before a named outcome
CHOOSES = re.compile(r"\bexit_code\([^;{]*\?")  # from a condition


def places(pattern, text):
    """The start of each match, outside of comments."""
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)
    return [(match.start(), code) for match in pattern.finditer(code)]


class OneJudge(unittest.TestCase):
    def found(self, pattern, folders=("vernier", "cli"), allowed=lambda code, at: False):
        return [
            f"{path}:{code[:at].count(chr(10)) + 1}"
            for path in sources(ROOT, folders)
            if not str(path).startswith(JUDGE)
            for at, code in places(pattern, (ROOT / path).read_text(encoding="utf-8"))
            if not allowed(code, at)
        ]

    def test_nothing_else_sets_an_outcome(self):
        self.assertEqual(self.found(SETS), [])

    def test_nothing_else_adds_doubts_or_drops_failures(self):
        self.assertEqual(self.found(ADDS, ["vernier/analysis", "cli"]), [])

    def test_nothing_else_names_an_outcome_but_to_ask_for_it(self):
        self.assertEqual(self.found(NAMES, allowed=lambda code, at: ASKS.search(code[:at])), [])

    def test_no_command_makes_its_exit_code_from_a_condition(self):
        self.assertEqual(self.found(CHOOSES, ["cli"]), [])

    def test_what_would_be_a_second_judge_is_found(self):
        made = "return exit_code(result.model ? Outcome::pass : Outcome::fail);"
        self.assertEqual(len(places(NAMES, made)), 2)
        self.assertTrue(CHOOSES.search(made))
        self.assertTrue(SETS.search("row.outcome = worst;"))
        for each in ("verdict.doubts = std::move(doubts);", "doubts.push_back(doubt)", "std::erase_if(failures, x)"):
            self.assertTrue(ADDS.search("verdict." + each if each.startswith("doubts.") else each))
        self.assertFalse(ADDS.search("const std::vector<Failure> failures = judge(limits, subjects);"))
        self.assertFalse(SETS.search("row.outcome = parse_outcome(name);"))


if __name__ == "__main__":
    unittest.main()
