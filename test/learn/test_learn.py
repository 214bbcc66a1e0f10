# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp learn`: the right solution of each exercise passes, each wrong solution is told its cause, and a
program that misbehaves is stopped. Programs are judged two at a time."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "apps"))
from support import Case, main, run  # noqa: E402

SOLUTIONS = sorted((HERE / "solutions").glob("*.c"))
WRONG = sorted((HERE / "wrong").iterdir())
ONLY = os.environ.get("LEARN_ONLY", "")  # "04": only the programs of exercise 4
JOBS = 2


def number_of(path):
    return str(int(path.name[:2]))


class Learn(Case):
    def judged(self, path):
        """Returns the verdict of a program, as the object of the JSON report."""
        result = run("learn", "check", number_of(path), "--file", path, "--json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)[0]

    def judge_all(self, paths):
        chosen = [path for path in paths if path.name.startswith(ONLY)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            yield from zip(chosen, pool.map(self.judged, chosen))

    def patched(self, path):
        """Returns the file of a wrong solution. A .diff is applied to the right solution."""
        if path.suffix == ".c":
            return path
        out = self.scratch / (path.stem + ".c")
        subprocess.run(["patch", "--quiet", "--output", out, HERE / f"solutions/{path.name[:2]}.c", path],
                       check=True, timeout=60)
        return out

    def test_right_solutions_pass(self):
        for path, verdict in self.judge_all(SOLUTIONS):
            with self.subTest(path.name):
                self.assertTrue(verdict["passed"], verdict)

    def test_wrong_solutions_are_told_their_cause(self):
        for path, verdict in self.judge_all([self.patched(path) for path in WRONG]):
            with self.subTest(path.name):
                source = next(file for file in WRONG if file.stem == path.stem)
                cause = re.match(r"/\* cause: ([\w-]+) \*/\n", source.read_text())[1]
                self.assertFalse(verdict["passed"], verdict)
                self.assertEqual(verdict["cause"], cause, verdict)


if __name__ == "__main__":
    main()
