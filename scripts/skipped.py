#!/usr/bin/env python3
"""Says how many tests were skipped, and why: `skipped.py RESULTS.xml`, as ctest --output-junit writes.

Both a test of ctest that skips itself and a part of a Python test that does (unittest, verbose) count.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = re.compile(r": Skipped\n(.*?)\n", re.DOTALL)
UNITTEST = re.compile(r"\.\.\. skipped ['\"](.*)['\"]$", re.MULTILINE)
SCRIPT = re.compile(r"^skipped: (.*)$", re.MULTILINE)


def reasons(test):
    """The reasons for which a test, or parts of it, did not run."""
    output = test.findtext("system-out") or ""
    found = [reason.strip() for pattern in (GTEST, UNITTEST, SCRIPT) for reason in pattern.findall(output)]
    return found or (["no reason given"] if test.find("skipped") is not None else [])


def main(path):
    tests = list(ElementTree.parse(path).getroot().iter("testcase"))
    counts = collections.Counter(reason for test in tests for reason in reasons(test))
    if not counts:
        print(f"skipped: none of {len(tests)} tests")
    else:
        print(f"skipped: {sum(counts.values())} of {len(tests)} tests, or of their parts:")
    for reason, count in counts.most_common():
        print(f"  {count:5}  {reason}")


if __name__ == "__main__":
    main(sys.argv[1])
