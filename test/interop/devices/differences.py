# SPDX-License-Identifier: Apache-2.0
"""Compares what the judge found on this stack's device with what it found on the kernel's. differences.tsv explains each
difference: the driver, patterns (fnmatch) of the case, the call and the driver's value, the device that is wrong, and why.
The first line that matches explains a difference."""
import fnmatch
import pathlib
import re
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROWS = HERE.parents[2] / "rfc-notes" / "requirements"
# "neither": the rule permits both values, or the network of the guest is the reason.
WRONG = ("driver", "ours", "neither")


class Accepted(NamedTuple):
    driver: str
    case: str
    call: str
    value: str
    wrong: str
    why: str

    def explains(self, driver, *of_difference):
        return driver == self.driver and all(map(fnmatch.fnmatchcase, of_difference, self[1:4]))


def recorded(driver):
    """Returns (version of the kernel, number of cases, rows). A row is (case, verdict, call, expected, actual)."""
    lines = (HERE / f"{driver}.tsv").read_text().splitlines()
    version, count = lines[0].removeprefix("# ").split()[:2]
    return version, int(count), [tuple(line.split("\t")) for line in lines[1:]]


def accepted():
    lines = (HERE / "differences.tsv").read_text().splitlines()
    return [Accepted(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def explanation(entries, driver, case, call, value):
    return next((entry for entry in entries if entry.explains(driver, case, call, value)), None)


def differences(driver, report):
    """Yields (case, call, the driver's value, ours) for each difference from a report of the judge (`--json`). Cases that
    vary or that do not apply to the driver are not compared. `ours` is empty if our device did not get to the call."""
    ours = {case["id"]: case for case in report["cases"]}
    rows = recorded(driver)[2]
    without = {row[0] for row in rows if row[1] != "fail"}
    failed = {row[:1] + row[2:3] for row in rows}
    for case, verdict, call, _, actual in rows:
        steps = {step["call"]: step["observed"] for step in ours.get(case, {}).get("steps", [])}
        if verdict == "fail" and steps.get(call, "") != actual:
            yield case, call, actual, steps.get(call, "")
    for name, case in ours.items():
        if name in without:
            continue
        if case["result"] == "refused":
            yield name, "", "a verdict", "refused"
        for step in case.get("steps", []):
            if not step["right"] and (name, step["call"]) not in failed:
                yield name, step["call"], step["expected"], step["observed"]


def problems(driver, report):
    """Returns a line for each difference that no entry explains, and for each entry that is stale or wrong."""
    entries, used, out = accepted(), set(), []
    for case, call, theirs, ours in differences(driver, report):
        entry = explanation(entries, driver, case, call, theirs)
        used.add(entry)
        if entry is None:
            out.append(f"unexplained difference: {case}: {call}: {driver} has \"{theirs}\", this device \"{ours}\"")
    rows = " ".join(path.read_text() for path in ROWS.glob("*.md"))
    for entry in entries:
        if entry.driver == driver and entry not in used:
            out.append(f"stale entry: {entry}")
        if entry.wrong not in WRONG or not (source := re.search(r" \[(.+)\]$", entry.why)):
            out.append(f"entry without a source: {entry}")
            continue
        out += [f"unknown row {row}: {entry}" for row in re.findall(r"\b(?:IBV|RCM)-\d+\b", source[1])
                if f"| {row} |" not in rows]
    return out
