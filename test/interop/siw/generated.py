#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs generated sessions against rping over kernel siw. Writes a report like that of a single `iwarp conform
--generated`. Sessions may crash the guest or its program, so as many guests are started as are needed.
Usage: generated.py VARIANT REPORT.json [OPTION of iwarp conform --generated]...
       generated.py --check VARIANT     fails unless it finds the known defects
Environment: IWARP SIW_CACHE; IWARP_NO_GUEST=1 to skip."""
import json
import pathlib
import sys
import tempfile

from guest import GUEST_ADDRESS, LIFE, Guest, environment_path, need_guest, run_here

MOST_GUESTS = 40
# Sessions that no handwritten case covers, with siw's reaction. See rfc-notes/peers.md.
KNOWN = {
    "in-read-response/RDMA Read Response/STag=another key": "continues",
    "in-read-response/RDMA Read Response/TO=largest": "continues",
    "after-send/Terminate/CRC=first bit": "connection closed without a Terminate",
    "in-send/Send with Solicited Event/none": "connection closed without a Terminate",
    "after-send/RDMA Write/Opcode=7": "connection closed without a Terminate",
    "after-send/RDMA Read Request/Size=0x80000000": "Terminate 0/1/ff",
}


def sessions_of_one_guest(variant, options):
    """Returns the report of one guest, and the last output lines of its program and its kernel."""
    delay = ("--first-fpdu-delay", "100") if variant == "stock" else ()
    with Guest(variant) as guest, tempfile.TemporaryDirectory() as scratch:
        # rping leaks file descriptors in sessions that end with an error, so the limit is raised.
        server = guest.start(f"ulimit -n 65536; rping -s -a {GUEST_ADDRESS} -P", LIFE)
        guest.wait_for_listener(7174)
        report = pathlib.Path(scratch, "report.json")
        status, _, error = run_here(environment_path("IWARP"), "conform",
                                    f"127.0.0.1:{guest.ports[7174]}", "--generated", *delay,
                                    f"--json={report}", *options, limit=LIFE)
        if not report.exists():
            raise RuntimeError(f"iwarp conform ended with {status} and no report: {error}")
        faults = [line for line in guest.log().splitlines() if "BUG" in line or "Oops" in line]
        return json.loads(report.read_text()), server.output.lines[-2:] + faults


def run(variant, options):
    """Returns the combined report of all guests. If a session ends a guest early, the next guest continues with the
    session that follows."""
    sessions, after = [], ()
    for _ in range(MOST_GUESTS):
        report, words = sessions_of_one_guest(variant, (*options, *after))
        sessions += report["sessions"]
        if not report["ended_early"]:
            return report | {"peer": f"siw {variant}", "sessions": sessions}
        last = sessions[-1]["id"]
        print(f"a new guest behind {last}: {report['ended_early']}; {words}", file=sys.stderr)
        after = ("--after", last)
    raise RuntimeError(f"{MOST_GUESTS} guests were not enough")


def check(variant):
    only = [word for name in KNOWN for word in ("--only", name)]
    observed = {session["id"]: session for session in run(variant, only)["sessions"]}
    missed = [f"{name}: observed {observed[name]['observed']}, right {observed[name]['right']}"
              for name, reaction in KNOWN.items()
              if observed[name]["observed"] != reaction or observed[name]["right"]]
    print(f"{variant}: {len(KNOWN)} known differences, {len(missed)} not found", *missed, sep="\n")
    return 1 if missed else 0


def main():
    need_guest()
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        return check(sys.argv[2])
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    pathlib.Path(sys.argv[2]).write_text(json.dumps(run(sys.argv[1], sys.argv[3:]), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
