# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp learn`: the right solution of each exercise passes, each wrong solution is told its cause, and a
program that misbehaves is stopped. Programs are judged six at a time, because many of them wait."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "apps"))
from support import TIMEOUT, Case, finish, main, run  # noqa: E402

EXERCISES = HERE.parent.parent / "apps/learn/exercises"
SOLUTIONS = sorted((HERE / "solutions").iterdir())
WRONG = sorted((HERE / "wrong").iterdir())
ONLY = os.environ.get("LEARN_ONLY", "")  # "04": only the programs of exercise 4
SEEDS = int(os.environ.get("LEARN_SEEDS", "5"))  # of the adversarial device, for right solutions
SEEDS_OF_WRONG = 30  # of which the judge tries the first ones until the program fails
JOBS = 6


# Bodies of main(), and the cause that the judge must name.
MISBEHAVING = [
    ("hang", "for (;;) {}"),
    ("hang", "signal(SIGTERM, SIG_IGN); for (;;) pause();"),
    ("prints-too-much", 'for (;;) puts("all work and no play");'),
    ("starts-process", "fork(); for (;;) pause();"),
    ("starts-process", "if (fork() == 0) { setsid(); for (;;) pause(); }"),
    ("starts-process", 'return system("sleep 1000");'),
    ("starts-process", "kill(getppid(), 0); return 0;"),
    ("memory-error", "*(volatile int *)8 = 1;"),
    ("memory-error", "char *p = malloc(8); memset(p, 1, 1 << 20); return 0;"),
    ("memory-error", "int a[4]; for (volatile int i = 0; i < 4000; i++) a[i] = i; return a[2];"),
    ("crash", "abort();"),
    ("exit-status", "exit(7);"),
    ("peer-ended", "close(learn_meet()); return 0;"),
    ("peer-ended", "const int peer = learn_meet(); char junk[9000] = {0}; learn_put(peer, junk, sizeof junk); return 0;"),
    ("does-not-compile|compiler-limit", '#include "/dev/zero"'),  # either its memory or its time ends first
    ("does-not-compile", "#error no"),
    ("does-not-link", "extern void nowhere(void); nowhere();"),
    ("not-complete", 'die("not written yet");'),
]


def processes_in(folder):
    """Returns the command lines of the processes that have an argument in this folder."""
    out = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in line:
                out.append(line)
    return out


def judged(path, seeds):
    """Judges a program of the exercise with which its name begins. Returns the result, and what the judge has left."""
    with tempfile.TemporaryDirectory(prefix="iwarp-test-") as folder:
        result = run("learn", "check", int(path.name[:2]), "--file", path, "--json", "--seeds", seeds,
                     timeout=TIMEOUT + 10 * seeds, env={**os.environ, "TMPDIR": folder})
        return result, os.listdir(folder) + processes_in(folder)


class Learn(Case):
    def patched(self, base, diff):
        out = self.scratch / (diff.stem + ".c")
        subprocess.run(["patch", "--quiet", "--output", out, base, diff], check=True, timeout=60)
        return out

    def right(self, number):
        """Returns the file of a right solution, which is a diff to the program that the student gets."""
        [exercise] = EXERCISES.glob(f"{number}-*/exercise.c")
        return self.patched(exercise, HERE / f"solutions/{number}.diff")

    def wrong(self, path):
        """Returns the file of a wrong solution. A .diff is applied to the right solution."""
        return path if path.suffix == ".c" else self.patched(self.right(path.name[:2]), path)

    def misbehaving(self, index, code):
        """Returns the file of a program whose main() contains `code`, for exercise 1."""
        path = self.scratch / f"01-misbehaving-{index}.c"
        path.write_text("#define _GNU_SOURCE\n#include \"../learn.h\"\n#include <signal.h>\n#include <pthread.h>\n"
                        f"#include <sys/wait.h>\nint main(void) {{\n{code}\n}}\n")
        return path

    def test_each_program_passes_or_is_told_its_cause(self):
        expected = [(cause, self.misbehaving(i, code)) for i, (cause, code) in enumerate(MISBEHAVING)]
        for path in WRONG:
            expected.append((re.match(r"/\* cause: ([\w-]+) \*/\n", path.read_text())[1], self.wrong(path)))
        expected = [(None, self.right(path.stem)) for path in SOLUTIONS] + expected
        expected = [one for one in expected if one[1].name.startswith(ONLY)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            judgements = pool.map(judged, [path for _, path in expected],
                                  [SEEDS_OF_WRONG if cause else SEEDS for cause, _ in expected])
            for (cause, path), (result, left) in zip(expected, judgements):
                with self.subTest(path.name):
                    self.assertEqual((result.stderr, left), ("", []))
                    self.assertLess(len(result.stdout), 200_000)
                    [verdict] = json.loads(result.stdout)
                    self.assertIn(verdict.get("cause"), cause.split("|") if cause else [None], verdict)
                    self.assertEqual((result.returncode, verdict["passed"]), (1, False) if cause else (0, True))

    def test_a_student_works_through_an_exercise(self):
        folder = self.dir / "work"
        self.assertIn("iwarp learn start", self.assert_ok(run("learn", cwd=self.dir)))
        self.assertIn("iwarp-exercises, read 01-memory", self.assert_ok(run("learn", "start", cwd=self.dir)))
        self.assertIn("01-memory", self.assert_ok(run("learn", "start", "work", cwd=self.dir)))
        self.assertIn("Next: read", self.assert_ok(run("learn", cwd=folder)))
        self.assert_fails(run("learn", "start", cwd=folder / "01-memory"), 1, "already contains the exercises")
        source = folder / "01-memory/exercise.c"
        ran = run("learn", "check", cwd=folder / "01-memory")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("nothing is written yet", ran.stdout)
        self.assertIn("not passed yet", self.assert_ok(run("learn", "show", "1", cwd=folder)))
        hints = self.assert_ok(run("learn", "hint", "1", "--level", "3", cwd=folder))
        self.assertEqual(hints.count("Hint "), 3)
        self.assert_ok(run("learn", "start", folder))  # keeps what the student has written
        source.write_text(self.right("01").read_text())
        self.assert_ok(run("learn", "start", folder))
        grades = self.scratch / "results.json"
        self.assertIn("passed", self.assert_ok(run("learn", "check", "--gradescope", grades, cwd=folder)))
        [test] = json.loads(grades.read_text())["tests"]
        self.assertEqual((test["score"], test["max_score"], test["status"]), (1, 1, "passed"))
        self.assertIn("saw: read=success", self.assert_ok(run("learn", "show", "1", cwd=folder)))
        self.assertRegex(self.assert_ok(run("learn", cwd=folder)), "(?m)^passed +1 ")

    def test_watching_ends_when_the_exercise_is_passed(self):
        self.assert_ok(run("learn", "start", self.dir))
        watching = self.started("learn", "check", "1", "--watch", cwd=self.dir)
        for line in watching.stdout:
            if "Waiting until the file changes" in line:
                break
        other = self.dir / "new.c"
        other.write_text(self.right("01").read_text())
        other.rename(self.dir / "01-memory/exercise.c")  # as editors do
        self.assertIn("passed", finish(watching).stdout)
        self.assertEqual(watching.returncode, 0)

    def test_wrong_arguments_are_refused(self):
        self.assert_ok(run("learn", "start", self.dir))
        for status, pattern, *words in (
                (2, "is not an exercise", "check", "14"), (2, "is not an exercise", "hint", "one"),
                (2, "one exercise", "check", "1", "2", "--watch"), (2, "one exercise", "check", "--file", "x.c"),
                (1, "not a file", "check", "1", "--file", "missing.c"),
                (1, "not a file", "check", "1", "--file", "/dev/zero"),
                (1, "cannot make", "start", "learn.h/x")):
            with self.subTest(words):
                self.assert_fails(run("learn", *words, cwd=self.dir), status, pattern)
        self.assert_fails(run("learn", "check", cwd=self.out), 1, "contains no exercises")
        (self.dir / ".iwarp-learn.json").write_text('{"passed": {"1": 3}}')
        self.assert_fails(run("learn", cwd=self.dir), 1, "damaged")


if __name__ == "__main__":
    main()
