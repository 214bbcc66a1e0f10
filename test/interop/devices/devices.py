#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets the judge of devices (apps/judge) judge the kernel's rxe and siw in the guest of test/interop/siw.

Usage: devices.py record DRIVER [--write]   runs the judge on rxe or siw; fails if an outcome is not the recorded one in
                                            DRIVER.tsv. --write records the outcomes; a case whose outcome differs from
                                            the one recorded before is marked as one that varies
       devices.py table FILE                writes rfc-notes/devices.md from the recorded outcomes
Environment: IWARP_JUDGE SIW_CACHE; IWARP_NO_GUEST=1 skips `record`, which runs only with IWARP_LONG=1."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "siw"))
from differences import accepted, explanation, recorded  # noqa: E402
from guest import Guest, environment_path, need_guest  # noqa: E402

LIMIT = 1500  # seconds for one guest
# The device of each driver, and the commands after which the guest has only this device.
DRIVERS = {
    "rxe": ("rxe0", "rdma link delete siw0; modprobe crc32_generic; modprobe rdma_rxe; "
                    "rdma link add rxe0 type rxe netdev eth0"),
    "siw": ("siw0", "true"),
}
NOTES = {
    "siw": ["The library of siw refuses a receive without a buffer (`push_recv_wqe()` in rdma-core's siw.c), and returns",
            "negative errno values instead of positive ones, which the judge accepts. Queue pairs of siw always report RESET.",
            ""],
}
MARKS = {"\u2714": "pass", "\u00d7": "fail", "-": "no verdict"}
HEAD = re.compile(r"    (\S+) ([a-z0-9-]+(?:/[a-z0-9-]+)+): (.*)")
STEP = re.compile(r"      (?:->|  ) (Called|Expected|Actual): +(.*)")
CRASHED = "ends the guest"


def parse(lines):
    """Returns {case: (verdict, [(call, expected, actual)])} of a text report that may be incomplete."""
    found, steps = {}, []
    for line in lines:
        if line.startswith("Failed:"):
            break
        if head := HEAD.fullmatch(line):
            steps = []
            found[head[2]] = (MARKS.get(head[1], head[1]), steps)
        elif step := STEP.fullmatch(line):
            if step[1] == "Called" or not steps or len(steps[-1]) == 3:
                steps.append(["" if step[1] != "Called" else step[2]])
            if step[1] != "Called":
                steps[-1].append(step[2])
    return {case: (verdict, [tuple(one) for one in steps]) for case, (verdict, steps) in found.items()}


def listed():
    text = subprocess.run([environment_path("IWARP_JUDGE"), "--list"], capture_output=True, text=True, check=True).stdout
    titles = {line.split()[0]: line.partition(" ")[2].strip() for line in text.splitlines() if "/" in line.split()[0]}
    return {case: re.sub(r" (?=[A-Z]+-\d)", ", ", title) for case, title in titles.items()}


def judge(driver):
    """Returns (version of the kernel, outcomes). A case that ends the guest is recorded, and a new guest continues with
    the next case."""
    device, prepare = DRIVERS[driver]
    program = pathlib.Path(environment_path("IWARP_JUDGE"))
    left, outcomes = list(listed()), {}
    while left:
        with Guest("stock", life=LIMIT + 60, files=(program,), megabytes=1536) as guest:
            guest.run(prepare)
            version = guest.run("uname -r")[1][0]
            only = " ".join(f"--only {case}" for case in left)
            status, lines = guest.run(f"{program.name} --device {device} {only}", LIMIT)
            outcomes |= parse(lines)
        left = [case for case in left if case not in outcomes]
        if status in (0, 1):
            break
        if left:
            print(f"{driver}: {left[0]} {CRASHED} (status {status})", flush=True)
            outcomes[left.pop(0)] = ("fail", [("", "the case runs to its end", CRASHED)])
    return version, outcomes


def rows_of(outcomes):
    """Yields a row for each case that did not pass, and for each wrong comparison of a case."""
    for case, (verdict, steps) in sorted(outcomes.items()):
        if verdict == "fail":
            yield from ((case, verdict, *step) for step in steps or [("", "", "")])
        elif verdict != "pass":
            yield case, verdict, "", "", ""


def record(driver, write):
    version, outcomes = judge(driver)
    rows = list(rows_of(outcomes))
    path = HERE / f"{driver}.tsv"
    known = recorded(driver)[2] if path.exists() else rows
    varying = {row[0] for row in known if row[1] == "varies"}
    changed = {row[0] for row in set(known) ^ set(rows)} - varying
    if write:
        varying |= changed
        rows = sorted([row for row in rows if row[0] not in varying] + [(case, "varies", "", "", "") for case in varying])
        path.write_text(f"# {version} {len(outcomes)} cases\n" + "".join("\t".join(row) + "\n" for row in rows))
    print(f"{driver} of {version}: {len(outcomes)} cases, {sum(v == 'fail' for v, _ in outcomes.values())} failed, "
          f"{len(changed)} differ from the recorded outcomes, {len(varying)} vary")
    for case in sorted(changed):
        print(f"{'varies' if write else 'fail'}\t{case}\t{outcomes.get(case, ('not run', []))}")
    return 0 if write or not changed else 1


def table(path):
    text = ["# What the judge finds in the kernel's devices", "",
            "`iwarp conform --device` ([judge.md](judge.md)) judged rxe and siw of the Linux kernel in a virtual machine. Each",
            "line is an answer of a driver that differs from the rule: the call, what is right, what the driver did, and why this",
            "stack's device differs: *neither* is wrong if the rule permits both or if the network of the guest is the reason.",
            "The rows in brackets are those of [requirements](requirements/README.md), where the source of each rule is.",
            "`test/interop/devices/differences.tsv` has the explanations; `rdma_core.judge` fails if one lacks or is stale.",
            "What the judge finds in this stack's device is in [judge.md](judge.md#what-it-finds-in-this-stacks-device). Judge",
            "the case, too: a rule that is wrong or a case that misunderstands a driver is a defect of the judge.", "",
            "The outcomes are those of one run, but for cases that are named as varying: a second run showed another outcome.", "",
            "Run a single case with `iwarp_judge --device rxe0 --only CASE`.", "",
            "`test/interop/devices/devices.py table` wrote this page.", ""]
    cases, entries = listed(), accepted()
    for driver in DRIVERS:
        version, count, rows = recorded(driver)
        failed = {row[0] for row in rows if row[1] == "fail"}
        without = {row[0] for row in rows if row[1] == "no verdict"}
        varying = sorted(row[0] for row in rows if row[1] == "varies")
        text += [f"## {driver} of Linux {version}", "",
                 f"{count} cases: {len(failed)} fail, {len(without)} are refused or do not apply, {len(varying)} vary from "
                 "run to run.", "", *NOTES.get(driver, []), "| Case, and what it tests | Call | Right | This driver | Wrong, and why |", "|---|---|---|---|---|"]
        last = ""
        for case, verdict, call, expected, observed in rows:
            if verdict != "fail":
                continue
            name = f"`{case}` {cases.get(case, '')}" if case != last else ""
            entry = explanation(entries, driver, case, call, observed)
            why = f"{entry.wrong}: {entry.why}" if entry else "this device, too"
            text.append(f"| {name} | {call} | {expected} | {observed} | {why} |".replace("  ", " "))
            last = case
        text.append("")
        if varying:
            text += ["Varying: " + ", ".join(f"`{case}`" for case in varying) + ".", ""]
    pathlib.Path(path).write_text("\n".join(text))
    return 0


def main():
    match sys.argv[1:]:
        case ["record", driver, *options] if driver in DRIVERS and options in ([], ["--write"]):
            need_guest("stock")
            return record(driver, bool(options))
        case ["table", path]:
            return table(path)
    sys.stderr.write(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
