# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run --careful`. Each incorrect program in careless/ must be reported, with the line of its mistake.
Nothing may be reported about the correct programs. foreign/test_careful_programs.py tries third-party programs."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

import mpi
from support import IWARP, SANITIZER, Case, Program, main, skip_all

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import metrics  # noqa: E402

CARELESS = pathlib.Path(os.environ.get("IWARP_CARELESS", "build/release/test/rdma_core/careless/careless"))
CAREFUL = {"options": ("--careful",)}
CAREFUL_ROCE = {"options": ("--careful", "--as", "roce")}
MISTAKES = CARELESS.with_name("mistakes")
# The code location in a report, for builds of careless with and without debug information.
PLACE = r"(\S*/careless/\w+\.[ch]pp:\d+|careless\+0x[0-9a-f]+) (?=\(\w)"
FAIL = {"options": ("--careful=fail",)}
FAIL_ROCE = {"options": ("--careful=fail", "--as", "roce")}
REPORTED = 99
FREED = "freed-while-registered"
WAITS = ("one_polled_before_poll", "one_polled_before_select", "one_polled_before_epoll")
FREED_BUFFERS = pathlib.Path(__file__).parent / "programs/freed_buffers.py"


def programs():
    """Returns a map from each program to the check that must report it, or to None for a correct program."""
    listed = subprocess.run([CARELESS], capture_output=True, text=True, timeout=60).stdout
    return [line.split() for line in listed.splitlines()]


def how(name):
    """Returns the options with which to run the program. iWARP has neither datagrams nor RESET."""
    return CAREFUL_ROCE if name.startswith(("datagram", "roce")) else CAREFUL


def said(result):
    return re.findall(r"(?m)^iwarp: careful: ([\w-]+): (.*)$", result.err)


class Wrong(Case):
    def test_each_is_noticed_where_it_is_wrong(self):
        noticed = [entry for entry in programs() if len(entry) == 2]
        self.assertGreaterEqual(len(noticed), 53)
        for name, check in noticed:
            if SANITIZER and (check == FREED or name in WAITS):
                continue  # libiwarp_careful.so.1 is not loaded.
            with self.subTest(name):
                result = self.run_program(CARELESS, name, **how(name))
                self.assertEqual({found for found, _ in said(result)}, {check}, result)
                self.assertRegex(said(result)[0][1], rf"; at {PLACE}.*\({name}\)")

    def test_what_is_right_is_told_nothing(self):
        proper = [name for name, *check in programs() if not check]
        self.assertGreaterEqual(len(proper), 10)
        for name in proper:
            if name == "proper_memory" and SANITIZER:
                continue  # With a sanitizer, realloc() moves a block that it shrinks.
            with self.subTest(name):
                self.assert_silent(self.run_program(CARELESS, name, **how(name)))

    def test_nothing_is_said_unasked(self):
        self.assert_silent(self.run_program(CARELESS, "destroyed_in_use"))


class Late(Case):
    def late(self, how, rnr_retry, number=signal.SIGUSR1):
        """Sends a signal to the program when a message has arrived and is waiting for a receive, which the program
        posts at SIGUSR1. Returns the result of the program."""
        where = f"unix:{self.scratch}/metrics"
        with Program(MISTAKES, "late", rnr_retry, options=(*how["options"], "--metrics", where)) as program:
            program.says("(?m)^sent$").wait_until(
                lambda: metrics.Figures(where)("iwarp_receive_holds_total") == 1, "a message that waits")
            program.signal(number)
            return program.wait()


@unittest.skipUnless(MISTAKES.exists(), f"not built: {MISTAKES}; apt-get install librdmacm-dev")
class Mistakes(Late):
    """Mistakes of a C program that uses rdma_cm and has both ends in one process."""

    def test_a_receive_behind_its_message(self):
        """An iWARP adapter never sends a message again, whatever retry count the program sets."""
        for how, rnr_retry, verdict in ((CAREFUL, 0, "an iWARP adapter would have ended the connection"),
                                        (CAREFUL, 7, "an iWARP adapter would have ended the connection"),
                                        (CAREFUL_ROCE, 0,
                                         "unless this end's rnr_retry_count is 7, which means no limit ")):
            with self.subTest(how=how, rnr_retry=rnr_retry):
                result = self.check(self.late(how, rnr_retry))
                self.assertEqual([check for check, _ in said(result)], ["receive-too-late"], result)
                self.assertRegex(said(result)[0][1],
                                 r"^a message from 127\.0\.0\.1:\d+ has waited for \d+ ms for the receive with wr_id 0x7 "
                                 rf"of queue pair \d+: .*{verdict}.*\(post receives before the peer may send")

    def test_a_read_into_memory_that_the_peer_may_not_write(self):
        """The Read Response writes to the sink. An iWARP adapter treats that as a remote write."""
        result = self.run_program(MISTAKES, "read", **CAREFUL)
        self.assertEqual([check for check, _ in said(result)], ["read-sink-rights"], result)
        self.assertRegex(said(result)[0][1], "lacks IBV_ACCESS_REMOTE_WRITE: an iWARP adapter refuses the Read")
        self.assert_silent(self.run_program(MISTAKES, "read", **CAREFUL_ROCE))

    def test_a_write_into_memory_that_the_peer_may_not_write(self):
        """The Write is refused in both personas. The peer made this mistake, and careful mode reports only mistakes
        of the program's own end."""
        for how, status in ((CAREFUL, "success"), (CAREFUL_ROCE, "remote access error")):
            with self.subTest(how=how):
                result = self.run_program(MISTAKES, "write", **how)
                self.assertEqual(result.out, f"the Write: {status}\n", result)
                self.assertEqual(said(result), [], result)
                self.assertRegex(result.err, r"this end refused the peer's RDMA Write .* IBV_ACCESS_REMOTE_WRITE")

    def test_private_data_that_roce_has_no_room_for(self):
        for how in (CAREFUL, CAREFUL_ROCE):
            for length, calls in ((56, ()), (57, ("rdma_connect",)), (196, ("rdma_connect",)),
                                  (197, ("rdma_connect", "rdma_accept"))):
                with self.subTest(how=how, length=length):
                    fails = how is CAREFUL_ROCE and calls  # the first of the calls
                    made = calls[:1] if fails else calls
                    result = self.run_program(MISTAKES, "private", length, statuses=(1 if fails else 0,), **how)
                    self.assertEqual([(check, text.split("(")[0]) for check, text in said(result)],
                                     [("private-data-too-long", call) for call in made], result)

    def test_messages_that_a_roce_adapter_repeats(self):
        self.assertEqual(said(self.check(self.late(CAREFUL_ROCE, 7))), [])


@unittest.skipUnless(MISTAKES.exists(), f"not built: {MISTAKES}; apt-get install librdmacm-dev")
@unittest.skipIf(SANITIZER, "the test builds programs with and without a sanitizer itself")
class Places(Case):
    """Tests that reports contain the file and line of the call, with a C program that calls inline functions of
    rdma-core."""
    SOURCE = pathlib.Path(__file__).parent / "careless/mistakes.c"

    def line(self, mark):
        lines = self.SOURCE.read_text().splitlines()
        return 1 + next(i for i, line in enumerate(lines) if line.endswith(f"// PLACE {mark}"))

    def place(self, build, **how):
        """Returns the text after "at" in the report of a mistake that every build contains."""
        result = self.run_program(CARELESS.with_name(build), "read", **CAREFUL, **how)
        self.assertEqual(len(said(result)), 1, result)
        return re.search("; at (.*), begun at ", said(result)[0][1])[1]

    def test_with_debug_information(self):
        """The three builds use -O0 and PIE, -O2 without PIE, and AddressSanitizer."""
        for build in ("mistakes", "mistakes_optimized", "mistakes_sanitized"):
            with self.subTest(build):
                # LeakSanitizer suspends all threads at the end of the program, and has crashed while it did so.
                how = {"env": {"ASAN_OPTIONS": "detect_leaks=0"}} if build == "mistakes_sanitized" else {}
                self.assertRegex(self.place(build, **how), rf"^\S*/mistakes\.c:{self.line('read')} "
                                 r"\(read_into_local_memory\)(, called at \S*/mistakes\.c:\d+ \(main\))?$")

    @unittest.skipUnless(shutil.which("addr2line"), "addr2line is missing: apt-get install binutils")
    def test_without_libdw_the_offset_is_what_addr2line_takes(self):
        (self.scratch / "libdw.so.1").touch()  # The loader refuses this file, and then looks for no other.
        place = self.place("mistakes_optimized", env={"LD_LIBRARY_PATH": str(self.scratch)})
        offset = re.fullmatch(r"mistakes_optimized\+(0x[0-9a-f]+)", place)[1]
        told = subprocess.run(["addr2line", "-ie", CARELESS.with_name("mistakes_optimized"), offset],
                              capture_output=True, text=True, timeout=60).stdout
        self.assertIn(f"mistakes.c:{self.line('read')}", told)

    def test_without_debug_information(self):
        self.assertRegex(self.place("mistakes_stripped"), r"^mistakes_stripped\+0x[0-9a-f]+$")


@unittest.skipUnless(MISTAKES.exists(), f"not built: {MISTAKES}; apt-get install librdmacm-dev")
class Failing(Late):
    """The exit status with --careful=fail, for CI scripts."""

    def status(self, *words, **how):
        with Program(*words, **how) as program:
            return program.wait().status

    def test_a_report_is_the_status(self):
        for number in (0, 3):
            with self.subTest(number=number):
                result = self.run_program(MISTAKES, "read", number, statuses=(REPORTED,), **FAIL)
                self.assertEqual(len(said(result)), 1, result)
                self.assertRegex(result.err, r"(?m)^iwarp run: careful mode reported 1 mistake: iwarp run exits with "
                                             rf"status 99 instead of {number}, the status of \S*mistakes$")

    def test_without_a_report_the_status_is_that_of_the_program(self):
        self.assertEqual(self.status(MISTAKES, "read", 3, **CAREFUL), 3)
        for number in (0, 3):
            result = self.run_program(MISTAKES, "read", number, statuses=(number,), **FAIL_ROCE)
            self.assert_silent(result)
        self.assertEqual(self.status("/nonexistent/program", **FAIL), 127)

    def test_processes_that_the_program_starts(self):
        self.assertEqual(self.status(MISTAKES, "child", 0, **FAIL), REPORTED)
        self.assertEqual(self.status("sh", "-c", f"{MISTAKES.resolve()} read; exit 5", **FAIL), REPORTED)
        self.assertEqual(self.status("sh", "-c", f"{MISTAKES.resolve()} read; exit 5", **FAIL_ROCE), 5)

    @unittest.skipIf(SANITIZER, "the program needs another sanitizer than the stack")
    def test_address_sanitizer(self):
        self.assertEqual(self.status(CARELESS.with_name("mistakes_sanitized"), "read", **FAIL), REPORTED)

    def test_reports_that_are_not_shown(self):
        result = self.run_program(MISTAKES, "read", options=("--careful=fail", "--quiet"), statuses=(REPORTED,))
        self.assertEqual(result.err, "")

    def test_signals_reach_the_program(self):
        for how, number, status in ((FAIL, signal.SIGUSR1, REPORTED), (FAIL_ROCE, signal.SIGUSR1, 0),
                                    (FAIL_ROCE, signal.SIGTERM, -signal.SIGTERM)):
            with self.subTest(how=how, number=number):
                result = self.late(how, 7, number)
                self.assertEqual(result.status, status, result)

    def test_what_cannot_be(self):
        for options in (("--careful=fail", "--env"), ("--careful=often", "true")):
            with self.subTest(options=options):
                ran = subprocess.run([IWARP, "run", *options], capture_output=True, text=True, timeout=60)
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertRegex(ran.stderr, "--careful")


@unittest.skipIf(SANITIZER, f"the {SANITIZER} sanitizer replaces free(), so freed memory that is still " 
                            "registered is not noticed, and programs that free it do not run")
class Freed(Case):
    def place(self, name, pattern):
        result = self.run_program(CARELESS, name, **CAREFUL)
        self.assertEqual(len(said(result)), 1, result)
        self.assertRegex(said(result)[0][1], pattern)

    def test_what_was_done_with_it_and_where_it_was_registered(self):
        for name, pattern in (
                ("freed_in_part", r"a 100-byte region was passed to free\(\) before "),
                ("deleted", r"a 4096-byte region was passed to free\(\) before "),
                ("emptied_by_realloc", "a 4096-byte region was passed to free"),
                ("moved_by_realloc", r"a 4096-byte region was moved by realloc\(\)"),
                ("moved_by_reallocarray", "a 4096-byte region was moved by realloc"),
                ("cut_short_by_realloc", "a 4097-byte region was shortened by realloc")):
            with self.subTest(name):
                self.place(name, pattern)
                self.place(name, rf", begun at {PLACE}")

    def test_unwatched_regions_are_told_once(self):
        result = self.run_program(CARELESS, "too_many_regions", **CAREFUL)
        self.assertEqual(said(result), [], result)
        self.assertEqual(re.findall("(?m)^iwarp.*", result.err),
                         ["iwarp: careful mode: cannot watch all regions for freed memory: "
                          "the program has too many regions"])

    def test_a_programs_own_allocator_is_told_once(self):
        result = self.run_program(CARELESS.with_name("own_allocator"), **CAREFUL)
        self.assertRegex(result.err, r"\Aiwarp: careful mode: cannot detect that registered memory is freed: "
                                     r"the program defines its own free\(\), or its allocator has no "
                                     r"malloc_usable_size\(\)\n\Z")

    def test_registrations_that_ucx_keeps(self):
        """An MPI program frees a buffer after sending it, while UCX keeps the buffer registered for reuse."""
        python = mpi.python_with_mpi4py()
        if python is None or not mpi.has_component("pml", "ucx"):
            self.skipTest("mpi4py, or an Open MPI with UCX, is missing; apt-get install python3-mpi4py openmpi-bin")
        words = ["mpirun", "-np", 2, "--oversubscribe", "--mca", "pml", "ucx", "--mca", "osc", "ucx"]
        for name, value in (("TLS", "^sm,self"), ("NET_DEVICES", "iwarp0:1"), ("RNDV_THRESH", 1024)):
            words += ["-x", f"UCX_{name}={value}"]
        words += [IWARP, "run", "--as", "roce", "--careful", python, FREED_BUFFERS]
        result = self.run_program(*words, plain=True, env={**mpi.ROOT, "TMPDIR": str(self.scratch)})
        self.assertEqual(sorted(re.findall("rank [01]: done", result.out)), ["rank 0: done", "rank 1: done"], result)
        self.assertNotIn(FREED, result.err, result)

    def test_without_the_library_all_else_is_seen(self):
        """IWARP_CAREFUL alone does not preload the library that watches the allocator. All other checks are made."""
        environment = {"IWARP_CAREFUL": "on"}
        self.assert_silent(self.run_program(CARELESS, "freed_before_deregistration", env=environment))
        result = self.run_program(CARELESS, "never_signalled", env=environment)
        self.assertEqual([check for check, _ in said(result)], ["never-signalled"])


if __name__ == "__main__":
    if not CARELESS.exists():
        skip_all(f"not built: {CARELESS}; apt-get install libibverbs-dev")
    main()
