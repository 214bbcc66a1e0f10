# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the programs in rfc-notes/programs.md with `iwarp run --careful`. The tests must pass as they
do without --careful, and every report must be on the list below, with its reason. Careful mode reads each sent
payload two more times, so without IWARP_LONG=1 only the quick tests run."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from support import IWARP, LONG, SANITIZER, Case

HERE = pathlib.Path(__file__).parent
TESTS = {path.stem.removeprefix("test_"): path for path in HERE.parent.rglob("test_*.py")}
QUICK = ("devices", "rping", "pingpong")
SLOW = ("cm_programs", "datagrams", "fio", "iser", "libfabric", "migration", "mpi", "one_port", "perftest",
        "perftest_plain", "persona", "qperf", "rpma", "rsockets", "ucx")
SECONDS = 600  # timeout for one test file

# UCX, except its transport rc_verbs alone. In put_lat, a put is answered before it has completed.
OF_UCX = r"^(ucx_perftest (?!.*-t (?!put_lat ).*-x rc_verbs )|ucx_read_only |io_demo )|mpirun .*pml ucx|mpiexec\.mpich "
# The expected reports: a pattern for the program's command line, the check that reports, and why the report is not
# an error of this stack. rfc-notes/careful.md explains them.
EXPECTED = (
    (r"^ib_send_bw ", "send-changed", "increments its word of credits while a Write sends it"),
    (r"^ib_send_bw ", "posted-too-early", "writes credits on a queue pair that stays in RTR (perftest 4.5)"),
    (r"^ib_send_bw .*-e ", "armed-not-polled", "arms its queue of credits, and polls it only if it has none left"),
    (r"^fio .*--rw=read ", "receive-too-late", "its source pauses for half a second, and then sends without credits"),
    (r"^qperf ", "receive-too-late", "its senders do not wait until the polling end has posted receives"),
    (r"^ibv_srq_pingpong ", "destroyed-in-use", "ends when its queue pairs have sent enough in total"),
    (r"^tgtd ", "armed-not-polled", "arms, and polls only in the next turn of its loop, after other events"),
    (r"^tgtd ", "read-sink-rights", "registers its pool only with IBV_ACCESS_LOCAL_WRITE, and Reads into it"),
    (OF_UCX, "send-changed",
     "ud_verbs treats the peer's acknowledgement as a completion; also the last put of ucp_put_bw"),
    (OF_UCX, "receive-written", "a defect of UCX before 1.14"),
)


def is_expected(one):
    words = " ".join([pathlib.Path(one["words"][0]).name, *one["words"][1:]]) + " "
    return any(one["check"] == check and re.search(pattern, words) for pattern, check, _ in EXPECTED)


class Table(Case):
    def test_nothing_is_missing(self):
        having = {name for name, path in TESTS.items() if re.search(r"(?m)^@tried\(", path.read_text())}
        self.assertEqual(having, set(QUICK + SLOW))

    def test_what_is_said_has_a_reason(self):
        for name in QUICK + (SLOW if LONG else ()):
            with self.subTest(name):
                said = self.said_in(name)
                without = sorted({f"{' '.join(one['words'])}: {one['check']}: {one['what']}" for one in said
                                  if not is_expected(one)})
                self.assertEqual(without, [], f"reports of careful mode about the programs of test_{name}.py")

    def said_in(self, name):
        log = self.scratch / f"{name}.jsonl"
        log.write_text("")
        environment = dict(os.environ, IWARP=str(HERE / "careful_iwarp.sh"), CAREFUL_SAID=str(log),
                           CAREFUL_IWARP=str(pathlib.Path(IWARP).resolve()))
        # IWARP_RESULTS would make the tests record results, and IWARP_LONG would make them take longer.
        for name_of_other in ("IWARP_RESULTS", "IWARP_LONG"):
            environment.pop(name_of_other, None)
        ran = subprocess.run([sys.executable, TESTS[name]], env=environment, capture_output=True,
                             text=True, timeout=SECONDS)
        self.assertIn(ran.returncode, (0, 77), ran.stdout[-4000:] + ran.stderr[-20000:])
        if ran.returncode == 77:
            print(f"test_{name}.py: {ran.stdout.strip()}")
        return [json.loads(line) for line in log.read_text().splitlines()]


if __name__ == "__main__":
    if SANITIZER:
        print("SKIPPED: the programs are tried with this sanitizer without careful mode")
        sys.exit(77)
    unittest.main(verbosity=2)
