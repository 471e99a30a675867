#!/usr/bin/env python3
"""Says how many tests were skipped, and why: `skipped.py RESULTS.xml`, as ctest --output-junit writes.

A test of ctest is a suite of GoogleTest, a Python test or a script: what counts are the tests that it ran, by its
own word, and those of them that were skipped. A Python test that one interpreter skips and another one runs was run.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = re.compile(r": Skipped\n(.*?)\n", re.DOTALL)
UNITTEST = re.compile(r"^(.*?)(?:\n(?!\w+ \().*?)?\.\.\. skipped ['\"](.*)['\"]$", re.MULTILINE)
PASSED = re.compile(r"^(\w+ \([\w.]+\))(?:\n(?!\w+ \().*?)? \.\.\. ok$", re.MULTILINE)
SCRIPT = re.compile(r"^skipped: (.*)$", re.MULTILINE)
RAN = (re.compile(r"^\[=+\] (\d+) tests? from .* ran\.", re.MULTILINE), re.compile(r"^Ran (\d+) tests? in", re.MULTILINE))


def output_of(test):
    return test.findtext("system-out") or ""


def reasons(test, passed):
    """The reasons for which a test, or parts of it, did not run, except those that `passed` elsewhere."""
    output = output_of(test)
    found = [reason.strip() for pattern in (GTEST, SCRIPT) for reason in pattern.findall(output)]
    skipped = UNITTEST.findall(output)
    if skipped or found:
        return found + [reason for name, reason in skipped if name.strip() not in passed]
    return ["no reason given"] if test.find("skipped") is not None else []


def ran(test):
    """How many tests a test of ctest is: one, if it does not say."""
    output = output_of(test)
    counts = [int(count) for pattern in RAN for count in pattern.findall(output)]
    return sum(counts) or 1


def main(path):
    tests = list(ElementTree.parse(path).getroot().iter("testcase"))
    passed = {name for test in tests for name in PASSED.findall(output_of(test))}
    counts = collections.Counter(reason for test in tests for reason in reasons(test, passed))
    total = sum(ran(test) for test in tests)
    if not counts:
        print(f"skipped: none of {total} tests")
    else:
        print(f"skipped: {sum(counts.values())} of {total} tests, or of their parts:")
    for reason, count in counts.most_common():
        print(f"  {count:5}  {reason}")


if __name__ == "__main__":
    main(sys.argv[1])
