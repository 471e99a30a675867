"""Only analysis/verdict decides what a verdict's outcome is; everything else asks it."""

import re
import unittest

from source_tree import ROOT, sources

# A zoo's rows show outcomes that other runs have written.
EXEMPT = ("vernier/analysis/verdict.", "vernier/analysis/zoo/")
SETS = re.compile(r"[.>]outcome\s*=(?!=)")


class OneJudge(unittest.TestCase):
    def test_nothing_else_sets_an_outcome(self):
        found = [
            f"{path}:{number}"
            for path in sources(ROOT, ["vernier", "cli"])
            if not str(path).startswith(EXEMPT)
            for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
            if SETS.search(line)
        ]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
