# SPDX-License-Identifier: Apache-2.0
"""Tests the tester, because a tester that cannot fail proves nothing. If a fault of faults.py is switched on in the
peer, the cases of that fault must fail. If it is switched off, all of them must pass.

  test_faults.py --all FAULT   runs every case against one fault and shows which cases fail"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support
from faults import FAULTS

BROKEN = os.environ["IWARP_BROKEN_COMMAND"]
TIME_LIMIT = 3  # seconds; a failing case often waits that long
AT_ONCE = 4  # number of faults tested at the same time; a test mostly waits


class BrokenServer(support.Server):
    """Runs iwarp_broken ping --server with `fault`. If it is None, the peer has no fault."""

    def __init__(self, fault, *options):
        environment = {**os.environ, "IWARP_BREAK": fault or ""}
        super().__init__("ping", "--server", *options, env=environment, executable=BROKEN)


def conform(*arguments):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "report.json")
        done = support.run("conform", *arguments, "--should", "--timeout", TIME_LIMIT, f"--json={path}", timeout=300)
        if not path.is_file():
            raise AssertionError(done.stderr + done.stdout)
        return json.loads(path.read_text())["cases"]


def run_cases(cases, role, options, fault=None):
    """Returns the results by case id, from a peer with `fault`. Runs `cases`, or all cases if `cases` is empty."""
    only = [word for case in cases for word in ("--only", case)]
    if role == "responder":
        with BrokenServer(fault, *options) as server:
            results = conform(server.address, *only)
    else:
        client = " ".join([f"IWARP_BREAK={fault or ''}", BROKEN, "ping 127.0.0.1:%p --count 1",
                           *options])
        results = conform("--serve", "0", "--client", client, *only)
    return {result["id"]: result for result in results}


def problems_of(fault):
    """Yields the problems with one row of the table. There are none if each case of the row finds the fault."""
    healthy = run_cases(fault.cases, fault.role, fault.options)
    broken = run_cases(fault.cases, fault.role, fault.options, fault.id)
    for case in fault.cases:
        if case not in healthy:
            yield f"{fault.id}: there is no case {case} for a {fault.role}"
            continue
        if healthy[case]["result"] != "pass":
            yield f"{fault.id}: {case} does not pass without it: {healthy[case]['detail']}"
        found = broken.get(case, {"result": "not run", "detail": ""})
        if found["result"] != "fail" or "cannot connect" in found["observed"]:
            yield f"{fault.id}: {case} is {found['result']} {found['detail']}"


class Faults(unittest.TestCase):
    def test_each_fault_is_found(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for fault, problems in zip(FAULTS, pool.map(lambda f: [*problems_of(f)], FAULTS)):
                with self.subTest(fault=fault.id):
                    self.assertEqual(problems, [])

    def test_the_table_is_in_order(self):
        ids = [fault.id for fault in FAULTS]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertGreaterEqual(len(ids), 14)
        for fault in FAULTS:
            self.assertTrue(fault.cases, fault.id)


def show_all(wanted):
    for fault in FAULTS:
        if wanted in (fault.id, "all"):
            print(f"{fault.id} ({fault.role}):")
            for role in ("responder", "initiator"):
                for case, result in run_cases((), role, fault.options, fault.id).items():
                    if result["result"] != "pass":
                        print(f"  {role} {result['result']} {case}: {result['detail']}")


if sys.argv[1:2] == ["--all"]:
    show_all(sys.argv[2])
else:
    support.main()
