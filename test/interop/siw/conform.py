#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `iwarp conform` against kernel siw. A peer with known defects shows how many of them the
tester finds.
Usage: conform.py stock|fixed     fails unless it finds exactly the known defects of this siw
       conform.py --table FILE    writes this stack's results and those of both siw variants as a Markdown page
Environment: IWARP SIW_CACHE; IWARP_NO_GUEST=1 to skip."""
import datetime
import json
import pathlib
import sys
import tempfile

from guest import (GUEST_ADDRESS, HERE, HOST_SEEN_FROM_GUEST, LIFE, Guest, Listener, environment_path,
                   need_guest, run_here)

# The violations of RFC 5044, 6581, 5041 and 5040 in Debian's siw. See rfc-notes/siw.md.
ALWAYS = {
    "mpa/startup/crc-by-default": "does not ask for CRCs by default",
    "mpa/startup/markers-demanded": "rejects peers that ask for markers",
    "mpa/startup/reserved-flags-zero": "repeats the reserved flags of the Request",
    "mpa/request/reject-flag-ignored": "repeats R of the Request",
    "mpa/request/private-data-257": "accepts at most 256 octets of private data",
    "mpa/request/private-data-512": "accepts at most 256 octets of private data",
    "mpa/request/total-512": "accepts at most 256 octets of private data",
    "mpa/enhanced/s-in-revision-1": "repeats S in revision 1",
    "mpa/depth/ord-not-negotiated": "does not support 0x3FFF",
    "mpa/depth/ird-not-negotiated": "does not support 0x3FFF",
    "mpa/crc/flipped-header": "checks the DDP header before the CRC",
    "ddp/bounds/wraps": "does not detect that TO wraps",
    "ddp/bounds/ends-at-top": "does not detect that TO wraps",
    "ddp/untagged/too-long": "sends 1/2/02 instead of 1/2/05",
    "ddp/untagged/too-long-later": "sends 1/2/02 instead of 1/2/05",
    "rdmap/opcode/read-request-on-queue-0": "checks the opcode, not the queue",
    "rdmap/opcode/read-request-on-queue-2": "checks the opcode, not the queue",
    "rdmap/opcode/tagged-send": "checks the opcode, not the T bit",
    "rdmap/opcode/tagged-read-request": "checks the opcode, not the T bit",
    "rdmap/opcode/untagged-write": "checks the opcode, not the T bit",
    "rdmap/opcode/untagged-read-response": "checks the opcode, not the T bit",
    "rdmap/read/mo-not-zero": "does not check MO of a Read Request",
    "rdmap/read/request-empty": "waits for ever for the header of a Read Request",
    "rdmap/read/largest": "sends 0/1/00 instead of 0/1/01",
    "rdmap/read/wraps": "does not detect that TO wraps, and closes without a Terminate",
    "rdmap/terminate/header-read": "repeats the Read Request with another MSN",
    "rdmap/terminate/length-write": "counts the payload only",
    "rdmap/terminate/length-send": "counts the payload only",
    "rdmap/terminate/length-read": "counts the payload only",
}
REPAIRED = {
    "rdmap/terminate/control-word": "encodes the Terminate Control field with bit fields of the host",
    "mpa/fpdu/split-crc": "loses the first part of a CRC that arrives in two parts",
}
# These cases fail in about one run of three: the response to a zero-length Read contains stale octets.
BY_CHANCE = {"rdmap/read/empty", "rdmap/read/empty-unknown", "ddp/tagged/own-empty"}
# These cases crash the guest's kernel or end its listener, so the results of later cases mean nothing.
FATAL = ("mpa/rtr/damaged", "closing/fin/without-mpa-request", "mpa/request/truncated-key",
         "mpa/request/truncated-header", "mpa/request/truncated-private-data",
         "mpa/request/then-fin", "mpa/request/then-reset")


def conform(*arguments):
    """Runs the tester. Returns its cases by id."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        status, _, error = run_here(environment_path("IWARP"), "conform", *arguments,
                                    f"--json={report.name}", limit=LIFE)
        text = report.read()
        if not text:
            raise RuntimeError(f"iwarp conform ended with {status} and no report: {error}")
        return {case["id"]: case for case in json.loads(text)["cases"]}


def as_server(variant, *only):
    delay = ("--first-fpdu-delay", "100") if variant == "stock" else ()
    with Guest(variant) as guest:
        server = guest.start(f"rping -s -a {GUEST_ADDRESS} -P", LIFE)
        guest.wait_for_listener(7174)
        cases = conform(f"127.0.0.1:{guest.ports[7174]}", *delay, *only)
        del server
        return cases


def as_client(variant, *only):
    with Guest(variant) as guest:
        ping = f"rping -c -a {HOST_SEEN_FROM_GUEST} -p %p -C 1"
        client = f"{HERE}/guest.py exec {guest.control} '{ping}' 20"
        return conform("--serve", "0", "--client", client, *only)


def check(variant):
    cases = as_server(variant)
    failed = {name for name, case in cases.items() if case["result"] == "fail"} - set(FATAL)
    known = ALWAYS | (REPAIRED if variant == "stock" else {})
    chance = BY_CHANCE if variant == "stock" else set()
    missed, new = sorted(set(known) - failed), sorted(failed - set(known) - chance)
    for name in missed:
        print(f"fail\t{name}\tnot found, but siw {known[name]}")
    for name in new:
        print(f"fail\t{name}\texpected {cases[name]['expected']}, observed {cases[name]['observed']}")
    passed = sum(case["result"] == "pass" for case in cases.values())
    print(f"{variant}: {len(cases)} cases, {passed} passed, {len(failed)} defects found, "
          f"{len(missed)} of the known ones missed, {len(new)} unknown")
    return 1 if missed or new or passed < 200 else 0


def everything(variant):
    """Runs all cases in both roles. A case that crashes the guest runs in a guest of its own."""
    server = as_server(variant)
    for name in FATAL:
        server |= as_server(variant, "--only", name)
    client = as_client(variant)
    for name in [name for name, case in client.items() if case["result"] == "fail"]:
        again = as_client(variant, "--only", name)[name]  # An earlier case may have crashed the guest.
        if again["result"] != "fail":
            client[name] = again | {"result": "once"}
    return server, client


def merged(runs):
    """Merges the results of several ways to start a peer. A case failed if it failed in any of them. Otherwise it
    passed if it passed in any of them."""
    cases = {}
    for run in runs:
        for name, case in run.items():
            seen = cases.get(name, {"result": "skipped"})["result"]
            if seen == "skipped" or case["result"] == "fail":
                cases[name] = case
    return cases


def our_server(*options):
    with Listener(environment_path("IWARP"), "ping", "--server", "--listen", "127.0.0.1:0", *options) as server:
        return conform(f"127.0.0.1:{server.port}")


def our_client(*options):
    ping = f"{environment_path('IWARP')} ping 127.0.0.1:%p --count 1 --quiet --size 1M"
    return conform("--serve", "0", "--client", " ".join((ping, *options)))


def ours():
    return (merged([our_server(), our_server("--markers")]),
            merged([our_client(), our_client("--markers"), our_client("--rtr=write"),
                    our_client("--rtr=read"), our_client("--rtr=send")]))


MARKS = {"pass": "pass", "fail": "**fail**", "once": "fail once", "skipped": "-"}


def table(role, columns):
    """Returns a table of the cases that fail in at least one column. The totals count all cases."""
    lines = [f"## {role}", "", "| Case | Section | ours | stock | fixed |", "|---|---|---|---|---|"]
    names = sorted({name: case for cases in columns for name, case in cases.items()}.items())
    for name, case in names:
        marks = [MARKS[cases[name]["result"]] if name in cases else "" for cases in columns]
        if not any("fail" in mark for mark in marks):
            continue
        lines.append(f"| {name} | {case['section'].removeprefix('RFC ')} | {' | '.join(marks)} |")
    totals = ["{pass} pass, {fail} fail, {once} once, {skipped} skipped".format(
        **{r: sum(c["result"] == r for c in cases.values()) for r in MARKS}) for cases in columns]
    lines.append(f"| **all {len(names)}** | | {' | '.join(totals)} |")
    return lines


def reasons(columns):
    lines = ["## What siw sent instead", "",
             "The table shows the results of kernel siw as a listening peer.", "",
             "| Case | Expected | stock | fixed |", "|---|---|---|---|"]
    for name in sorted(set(columns[1]) | set(columns[2])):
        cases = [cases.get(name, {"result": ""}) for cases in columns[1:]]
        if any(case["result"] == "fail" for case in cases):
            observed = [case["observed"] if case["result"] == "fail" else MARKS.get(case["result"], "")
                        for case in cases]
            expected = next(case["expected"] for case in cases if case["result"] == "fail")
            lines.append(f"| {name} | {expected} | {' | '.join(observed)} |")
    return lines


def write_table(path):
    servers, clients = zip(ours(), everything("stock"), everything("fixed"))
    today = datetime.date.today()
    head = [f"# Conformance of this stack and of kernel siw, {today.day} {today:%B %Y}", "",
            "All MUST cases of `iwarp conform` were run against `iwarp ping` (*ours*), and against `rping`",
            "over siw of Linux 6.1, as Debian has it (`stock`) and with repairs (`fixed`; see",
            "[siw.md](siw.md)). A dash means that the case tests an optional feature that the peer does not",
            "offer. `iwarp ping` was run with and without `--markers`, and as a client also with each kind of",
            "RTR. siw runs in a guest, a virtual machine. If a case failed with siw as the connecting peer, the case",
            "was repeated with a new guest; *fail once* means that the case passed or was skipped in this second run.",
            "`iwarp ping` skips two cases, which need a peer with `--crc off`; the test",
            "`conform.peers` has such a peer.", "",
            "The tables show the cases that some peer fails; `iwarp conform --list` lists all cases.", "",
            "`test/interop/siw/conform.py --table` wrote this page.", ""]
    body = [*table("Listening peers", servers), "", *table("Connecting peers", clients), "", *reasons(servers)]
    pathlib.Path(path).write_text("\n".join(head + body) + "\n")
    return 0


def main():
    need_guest(sys.argv[-1])
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        return write_table(sys.argv[2])
    if len(sys.argv) == 2 and sys.argv[1] in ("stock", "fixed"):
        return check(sys.argv[1])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
