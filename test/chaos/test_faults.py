#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the oracle, because an oracle that never complains proves nothing. With each fault of chaos_faults.py, one
of the fault's rules must be broken within the number of seeds that the fault allows. Without a fault, no rule may
be broken."""
import concurrent.futures
import os
import subprocess
import sys
import unittest

from chaos_faults import FAULTS

BROKEN = sys.argv.pop()


def run(fault, seeds):
    return subprocess.run([BROKEN, "--verbose", "--seeds", f"1-{seeds}"], timeout=900,
                          env={**os.environ, "IWARP_BREAK": fault}, capture_output=True, text=True)


def problem_of(fault):
    done = run(fault.id, fault.seeds)
    first = done.stdout.split("\n", 1)[0]
    _, _, rule = first.partition(" breaks a rule: ")
    if done.returncode != 1 or not rule.startswith(fault.rules):
        return f"{fault.id}: status {done.returncode}, {first}"
    print(f"{fault.id}: {first}")
    return None


class Faults(unittest.TestCase):
    def test_each_fault_breaks_a_rule(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for fault, problem in zip(FAULTS, pool.map(problem_of, FAULTS)):
                with self.subTest(fault=fault.id):
                    self.assertIsNone(problem)

    def test_without_a_fault_none_is_broken(self):
        done = run("", 300)
        self.assertEqual(done.returncode, 0, done.stdout)


unittest.main()
