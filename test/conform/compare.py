#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the differences between two peers in the same generated sessions, and which peer is right.
Usage: compare.py [--markdown] A.json B.json   two reports of `iwarp conform --generated --json=FILE`
Prints one line for each kind of difference: the rules that the sessions break, what each peer did, the number of
such sessions, and one of them as an example. The exit status is 0 even if there are differences, and 2 if the
two reports do not match."""
import argparse
import collections
import json
import pathlib
import sys

VERDICTS = {(True, True): "both", (True, False): "the first", (False, True): "the second",
            (False, False): "neither"}


def sessions_of(path):
    report = json.loads(pathlib.Path(path).read_text())
    return report["peer"], {session["id"]: session for session in report["sessions"]}


def differences(first, second):
    """Returns the kinds of differences as (kind, ids). Kinds with a wrong peer come before kinds in which both peers
    are right, and within each group the kinds with the most sessions come first."""
    kinds = collections.defaultdict(list)
    for name in first.keys() & second.keys():
        a, b = first[name], second[name]
        if a["observed"] != b["observed"] or a["right"] != b["right"]:
            rules = a["broken"] or "nothing is wrong"
            kinds[rules, " ".join(a["requirements"]) if not a["broken"] else a["broken_rows"],
                  a["expected"], a["observed"], b["observed"], VERDICTS[a["right"], b["right"]]].append(name)
        if a["headers"] != b["headers"] and a["observed"] == b["observed"]:
            right = VERDICTS[not a["headers"], not b["headers"]]
            kinds["headers that a Terminate brings back", "RDMAP-93 RDMAP-94", "those of the segment",
                  a["headers"] or "right", b["headers"] or "right", right].append(name)
    return sorted(kinds.items(), key=lambda item: (item[0][-1] == "both", -len(item[1]), item[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("reports", nargs=2)
    options = parser.parse_args()
    (name_a, a), (name_b, b) = map(sessions_of, options.reports)
    common = a.keys() & b.keys()
    if not common:
        print("the reports have no session in common", file=sys.stderr)
        return 2
    found = differences(a, b)
    print(f"{len(common)} sessions of both: the first is {name_a}, the second {name_b}; "
          f"{sum(len(ids) for _, ids in found)} differ, in {len(found)} ways\n")
    if options.markdown:
        print("| Sessions | Broken | Rows | Expected | The first | The second | Right | For example |")
        print("|--:|---|---|---|---|---|---|---|")
    for (rules, rows, expected, one, other, right), ids in found:
        if options.markdown:
            print(f"| {len(ids)} | {rules} | {rows} | {expected} | {one} | {other} | {right} "
                  f"| {min(ids)} |")
        else:
            print(f"{len(ids):5}  {rules} [{rows}]\n       expected {expected}\n"
                  f"       the first: {one}\n       the second: {other}\n"
                  f"       right: {right}; for example {min(ids)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
