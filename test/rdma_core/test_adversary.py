# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run --adversary`. Each program in adversary/ has a mistake that hides on most devices: with some seed the
mistake must show, and the program without the mistake must pass with all seeds. The judge must find nothing that is
wrong with the device."""
import concurrent.futures
import os
import pathlib
import re

from support import Case, main

PROGRAMS = pathlib.Path(os.environ.get("IWARP_ADVERSARY_PROGRAMS", "build/release/test/rdma_core/adversary"))
NAMES = ("asked_size", "credit_per_event", "dropped_flush", "early_completion", "early_credit", "flag_second_qp",
         "id_order", "late_receive", "lost_datagram", "lost_event", "read_atomic", "reused_buffer", "select_channel",
         "srq_order", "swapped_keys", "unsignaled", "write_poll")
# Freedoms that are not in use unless they are named.
NAMED = {"lost_datagram": ",datagrams"}
SEEDS = "1..50"
ROCE = ("--as", "roce")
ANY = range(256)


class Programs(Case):
    def try_all(self, function):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, found in zip(NAMES, pool.map(function, NAMES)):
                with self.subTest(name):
                    self.assertIsNone(found, found)

    def test_each_mistake_shows_with_some_seed(self):
        def hides(name):
            for seed in range(1, 51):
                result = self.run_program(PROGRAMS / name, "wrong", statuses=(*ANY, -14),
                                          options=(*ROCE, f"--adversary={seed}{NAMED.get(name, '')}"))
                if result.status != 0:
                    return None
            return f"{name} passes with 50 seeds"
        self.try_all(hides)

    def test_programs_without_mistake_pass(self):
        def fails(name):
            result = self.run_program(PROGRAMS / name, "right", statuses=ANY, options=(*ROCE, f"--adversary={SEEDS}{NAMED.get(name, '')}"))
            return None if result.status == 0 else str(result)
        self.try_all(fails)


class Command(Case):
    def test_the_shortest_form_is_found(self):
        result = self.run_program(PROGRAMS / "swapped_keys", "wrong", statuses=(1,),
                                  options=(*ROCE, "--adversary=3..9"))
        self.assertRegex(result.err, r"(?m)^iwarp run: \S+/swapped_keys failed with seed 3: exit status 1$")
        self.assertRegex(result.err, r"(?m)^iwarp run: shortest option that still fails: --adversary=3,keys$")

    def test_why_a_connection_ended_is_logged_although_the_program_exits_first(self):
        for seed in range(1, 21):
            with self.subTest(seed=seed):
                result = self.run_program(PROGRAMS / "swapped_keys", "wrong", statuses=(1,),
                                          options=(*ROCE, f"--adversary={seed},keys,dispatch"))
                self.assertIn(" ended: RDMA Write wr_id 0x1 ", result.err)

    def test_what_the_device_did_is_shown(self):
        result = self.run_program(PROGRAMS / "dropped_flush", "wrong", statuses=(1,),
                                  options=(*ROCE, "--adversary=1..50,late"))
        self.assertRegex(result.err, r"(?m)^iwarp run: shortest option that still fails: --adversary=\d+,late$")
        self.assertRegex(result.err, r"(?m)^iwarp run: what the device did before the failure:\n"
                                     r" +[\d.]+ ms, process \d+: completion queue \d+ hides its completions from \d+ polls$")

    def test_a_command_that_passes(self):
        result = self.run_program("true", options=("--adversary=1..3",))
        self.assertEqual(result.err, "iwarp run: true passed with each of the seeds 1 to 3\n")
        self.assertEqual(self.run_program("true", options=("--adversary=1..3", "--quiet")).err, "")

    def test_a_command_that_needs_no_freedom_to_fail(self):
        result = self.run_program("false", options=("--adversary=1..3",), statuses=(1,))
        self.assertIn("\niwarp run: false also fails without --adversary\n", result.err)

    def test_with_the_other_modes(self):
        plan = self.scratch / "plan"
        plan.write_text("after 1000 completions error\n")
        for options in (("--careful=fail",), ("--fault", plan), ("--tls-psk", self.psk())):
            for seeds in ("7", "7..8"):
                self.run_program(PROGRAMS / "lost_event", "right", options=(*ROCE, *options, f"--adversary={seeds}"))

    def psk(self):
        file = self.scratch / "psk"
        file.write_text("me:" + "0123456789abcdef" * 4 + "\n")
        return file

    def test_the_default_is_seed_1(self):
        shown = self.run_program("env", options=("--adversary",)).out
        self.assertEqual(re.findall("(?m)^IWARP_ADVERSARY=(.*)$", shown), ["on"])

    def test_bad_values(self):
        for value in ("x", "5..2", "1,", "1,speed", "..", "-1"):
            result = self.run_program("true", options=(f"--adversary={value}",), statuses=(2,))
            self.assertRegex(result.err, rf'^iwarp run: --adversary: "{re.escape(value)}" is not a seed or a range '
                             r"FIRST\.\.LAST, with optional freedoms")
        result = self.run_program("--env", options=("--adversary=1..2",), statuses=(2,))
        self.assertIn("--env runs no command (use one seed)", result.err)


main()
