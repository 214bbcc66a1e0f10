#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Summarizes a run of ctest: the tests that took longest, each skipped test with its reason, and one line of
counts. Reads ctest's JUnit report. Its exit status is always 0. The exit status of ctest shows whether all tests
have passed.
Usage: summary.py PRESET REPORT SECONDS"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

LONGEST = 5
LONG_SECONDS = 10


def reason(case):
    """Returns the line of a test's output that says why the test was skipped, or the last line."""
    lines = [line.strip() for line in case.findtext("system-out", "").splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"(SKIPPED|skipped)\b", line)]
    return re.sub(r"^(SKIPPED|skipped):? *", "", (said or lines or ["no reason given"])[-1])


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    preset, report, seconds = sys.argv[1:]
    if not pathlib.Path(report).is_file():
        print(f"{preset}: no report")
        return 0
    suite = ElementTree.parse(report).getroot()
    cases = sorted(suite.iter("testcase"), key=lambda case: -float(case.get("time")))
    for case in cases[:LONGEST]:
        if float(case.get("time")) >= LONG_SECONDS:
            print(f"{preset}: {float(case.get('time')):5.0f} s  {case.get('name')}")
    for case in cases:
        if case.find("skipped") is not None:
            print(f"{preset}: SKIPPED  {case.get('name')}: {reason(case)}")
    print(f"{preset}: {suite.get('tests')} tests, {suite.get('failures')} failed, "
          f"{suite.get('skipped')} skipped, {seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
