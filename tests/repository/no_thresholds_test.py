"""Reports compare figures with no constants: what they mean is decided in analysis/."""

import re
import unittest

from source_tree import ROOT, sources

# Numbers of digits, units and colours are chosen by size.
EXEMPT = ("vernier/report/number.", "vernier/report/progress.")
CONSTANT = re.compile(r"\binline constexpr double (\w+) =")


def thresholds():
    """The constants that the headers of analysis/ show."""
    headers = sources(ROOT, ["vernier/analysis"], (".h",))
    return [name for path in headers for name in CONSTANT.findall((ROOT / path).read_text())]


class NoThresholds(unittest.TestCase):
    def test_reports_have_no_thresholds(self):
        own = r"\bconstexpr double\b|[<>]=?\s*\d+\.\d|(?<!<)[<>]=?\s*\d{2,}\b|\b(?:above|below)\(\d{2}"
        judges = re.compile(rf"{own}|\b(?:{'|'.join(thresholds())})\b")
        found = [
            f"{path}:{number}"
            for path in sources(ROOT, ["vernier/report"])
            if not str(path).startswith(EXEMPT)
            for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
            if judges.search(line.split("//")[0])
        ]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
