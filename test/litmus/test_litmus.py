# SPDX-License-Identifier: Apache-2.0
"""Runs the litmus files on this stack's device, and checks that the runner reports what it must: a forbidden outcome,
a program that fails, a file with an error."""
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent
PERSONA = os.environ.get("PERSONA", "roce")
RUNS = 10_000 if support.LONG else 1000
# The delays of each week differ, so that no two long runs are the same.
SEED = datetime.date.today().isocalendar().week if support.LONG else 1

HEAD = """RDMA example
host A { x = 1; y; }
host B { z; }
qp q = A B;
"""


class Litmus(unittest.TestCase):
    def judge(self, *arguments, timeout=240):
        return subprocess.run([support.IWARP, "conform", f"--as={PERSONA}", "--device=iwarp0", *arguments],
                              capture_output=True, text=True, timeout=timeout, check=False,
                              env=support.environment())

    def judge_text(self, text, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
            file.write(text)
            file.flush()
            result = self.judge(f"--litmus={file.name}", *arguments)
            result.stderr = result.stderr.replace(file.name, "FILE")
            return result

    def test_no_forbidden_outcome(self):
        result = self.judge("--litmus", f"--runs={RUNS}", f"--seed={SEED}", "--json", timeout=3000 if support.LONG else 600)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr[-2000:])
        reports = json.loads(result.stdout)
        self.assertEqual(sorted(one["name"] for one in reports), sorted(file.stem for file in HERE.glob("*.litmus")))
        without = [one["name"] for one in reports if one["verdict"] == "not applicable"]
        self.assertEqual(without, ["write-immediate", "write-write-immediate"] if PERSONA == "iwarp" else [])
        for one in reports:
            if one["name"] not in without:
                self.assertEqual(one["verdict"], "right", one)
                self.assertEqual(sum(outcome["runs"] for outcome in one["outcomes"]), RUNS, one)

    def test_built_in_file_by_name(self):
        for name in ("write-write", "write-write.litmus"):
            result = self.judge(f"--litmus={name}", "--runs=10")
            self.assertRegex(result.stdout, r"\Aright write-write: exists .* of 10 runs, .* s\n(    .*\n)+\Z", result)

    def test_forbidden_outcome(self):
        def program(value, answer):
            return HEAD + ("thread P0 on A { write z = x; }\n"
                           f'exists (z={value}) iwarp {answer} "a rule"; ib {answer} "a rule";')
        for wrong in (program(1, "Never"), program(0, "Always")):
            result = self.judge_text(wrong, "--runs=50")
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stdout, r"^FORBIDDEN example: exists \(z=[01]\) (Never|Always): \d+ of 50 runs")
            self.assertRegex(result.stdout, r"(?m)^ +50 [* ] z=1$")
            self.assertIn("a rule", result.stdout)
        right = self.judge_text(program(1, "Always"), "--runs=50")
        self.assertEqual(right.returncode, 0, right)

    def test_failing_program(self):
        # The peer has deregistered its memory, so that the Write fails, which the program does not allow.
        result = self.judge_text(
            HEAD + "thread P0 on A { hear gone; write z = x; read y = z; poll; poll; }\n"
            "thread P1 on B { deregister z; tell gone; }\n"
            'exists (y=1) iwarp Never "s"; ib Never "s";', "--runs=5")
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stdout, r"^FAILED example: (P0, line 5: \w|queue pair q failed: \w)")

    def test_bad_files(self):
        result = self.judge_text(HEAD + "thread P0 on A {\n  write z = 7;\n}\n")
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, "iwarp_judge: FILE:6: expected a location, found '7'\n")
        for path, why in (("/nowhere/x", 'cannot read "/nowhere/x": no such file or directory'),
                          ("/proc/self/fd", '"/proc/self/fd" has no *.litmus files')):
            result = self.judge(f"--litmus={path}")
            self.assertEqual((result.returncode, result.stderr), (2, f"iwarp_judge: {why}\n"), result)
        result = subprocess.run([support.IWARP, "conform", "--litmus", "--list"], capture_output=True,
                                text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (2, "iwarp conform: --litmus requires --device\n"))

    def test_each_file_has_a_description(self):
        for file in HERE.glob("*.litmus"):
            text = file.read_text()
            self.assertRegex(text, rf"^RDMA {file.stem}\n\n\(\* [A-Z]", file.name)
            # Sources are rows of requirements/ or names that rfc-notes/litmus.md explains.
            notes = (HERE.parents[1] / "rfc-notes" / "litmus.md").read_text()
            for name in re.findall(r"\b[A-Z]+-[A-Z]+\b", " ".join(re.findall('"(.*)"', text))):
                self.assertIn(f"| `{name}` |", notes, file.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
