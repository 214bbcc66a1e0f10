#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of ctest came to: the tests that took longest, each that was skipped with its reason,
each that passed at its second try only, and one line of counts. Reads what ctest printed and its
JUnit report, which knows of last tries only; its own status is always 0, ctest's says whether all is
well.
Usage: summary.py PRESET REPORT OUTPUT SECONDS"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

LONGEST = 5
LONG_SECONDS = 10
NOT_PASSED = re.compile(r"Test +#\d+: (\S+) \.*\*\*\*(?!Skipped)")


def reason(case):
    """The line of a test's output that says why it was skipped; its last one where none does."""
    lines = [line.strip() for line in case.findtext("system-out", "").splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"(SKIPPED|skipped)\b", line)]
    return re.sub(r"^(SKIPPED|skipped):? *", "", (said or lines or ["no reason given"])[-1])


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    preset, report, output, seconds = sys.argv[1:]
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
    tried_again = set(NOT_PASSED.findall(pathlib.Path(output).read_text(errors="replace")))
    for case in cases:
        if case.get("status") == "run" and case.get("name") in tried_again:
            print(f"{preset}: SECOND TRY  {case.get('name')}: failed once, see {output}")
    print(f"{preset}: {suite.get('tests')} tests, {suite.get('failures')} failed, "
          f"{suite.get('skipped')} skipped, {seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
