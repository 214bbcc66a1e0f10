# SPDX-License-Identifier: Apache-2.0
"""Tests the judge of devices, because a judge that cannot fail a device proves nothing. If a fault of device_faults.py
is switched on in the drop-in library, failing cases must name all rows of that fault. If none is switched on, the same
cases must pass.

  test_judge_faults.py --all FAULT...   shows which cases of the whole judge fail with each fault, and their rows"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support
from device_faults import FAULTS

BROKEN = os.environ["IWARP_BROKEN_LIBRARY"]
AT_ONCE = 8  # number of faults tested at the same time; a failing case mostly waits
CASE_LIMIT = 60  # seconds


def environment(persona):
    """Returns the environment in which the device has the faults, with none switched on."""
    said = subprocess.run([support.IWARP, "run", "--env", "--as", persona], check=True, capture_output=True, text=True)
    out = dict(line.split("=", 1) for line in said.stdout.splitlines())
    library = next(path for path in out["LD_PRELOAD"].split(":") if path.endswith("/libibverbs.so.1"))
    out["LD_PRELOAD"] = out["LD_PRELOAD"].replace(library, BROKEN)
    return support.environment(out)


class Device:
    """The device of this stack as `persona`, with the faults."""

    def __init__(self, persona):
        self.env = environment(persona)

    def judge(self, fault, beginnings):
        """Returns the results of the cases whose ids begin with one of `beginnings`, with `fault` switched on."""
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch, "report")
            done = subprocess.run(
                [support.IWARP, "conform", "--device=iwarp0", f"--timeout={CASE_LIMIT}", f"--json={report}",
                 *(f"--only={beginning}" for beginning in sorted(beginnings))],
                env={**self.env, "IWARP_BREAK": fault}, timeout=support.TIMEOUT, capture_output=True, text=True)
            if not report.is_file():
                raise AssertionError(done.stderr + done.stdout)
            found = json.loads(report.read_text())
        if found["summary"]["ended_early"]:
            raise AssertionError(f"{fault}: {found['summary']['ended_early']}")
        return found["cases"]


def failed(cases):
    return [case for case in cases if case["result"] == "fail"]


def rows_of(cases):
    return {row for case in cases for row in case["requirements"]}


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.devices = {persona: Device(persona) for persona in {fault.persona for fault in FAULTS}}

    def test_each_fault_is_found_by_cases_that_name_its_rows(self):
        def found(fault):
            return failed(self.devices[fault.persona].judge(fault.id, [fault.only]))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for fault, cases in zip(FAULTS, pool.map(found, FAULTS)):
                with self.subTest(fault=fault.id):
                    missing = set(fault.rows) - rows_of(cases)
                    self.assertEqual(missing, set(), [case["id"] for case in cases])

    def test_without_fault_the_same_cases_pass(self):
        for persona, device in self.devices.items():
            with self.subTest(persona=persona):
                cases = device.judge("", {fault.only for fault in FAULTS if fault.persona == persona})
                self.assertEqual([(case["id"], case["detail"]) for case in failed(cases)], [])

    def test_the_table_is_in_order(self):
        ids = [fault.id for fault in FAULTS]
        self.assertEqual(len(ids), len(set(ids)))
        page = pathlib.Path(__file__).resolve().parents[2] / "rfc-notes/judge.md"
        self.assertIn(f"finds {len(ids)} of {len(ids)}", page.read_text())
        for fault in FAULTS:
            self.assertTrue(fault.rows, fault.id)


def show_all(wanted):
    for fault in FAULTS:
        if fault.id in wanted:
            print(f"{fault.id} ({fault.persona}):")
            for case in failed(Device(fault.persona).judge(fault.id, [])):
                print(f"  {case['id']} [{', '.join(case['requirements'])}]: {case['detail']}")


if sys.argv[1:2] == ["--all"]:
    show_all(sys.argv[2:])
else:
    unittest.main(verbosity=2)
