# SPDX-License-Identifier: Apache-2.0
"""Runs the judge of devices (`iwarp conform --device`) on the device of this stack: no case fails, and each option does
what its help says. Strange devices (strange/strange.c) and bad input show what the judge does if a case or a device stops in the
middle."""
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import unittest
import xml.etree.ElementTree as xml

import support
from support import SANITIZER, TIMEOUT, Case, Program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop" / "devices"))
import differences  # noqa: E402

PERSONAS = {"iwarp": "siw", "roce": "rxe"}  # and the kernel's driver with which each is compared
STRANGE = os.environ["IWARP_STRANGE"]
TWO_CASES = ("--only=device/port/unknown", "--only=device/ping")  # the second one needs everything that a device has
CASE_LIMIT = 240 if SANITIZER else 60  # seconds


class JudgeCase(Case):
    def judge(self, *words, persona="roce", device="iwarp0", **how):
        """Runs the judge on the device that this stack provides for `persona`."""
        return self.run_program(support.IWARP, "conform", f"--as={persona}", f"--device={device}",
                                f"--timeout={CASE_LIMIT}", *words, plain=True, timeout=10 * TIMEOUT, **how)

    def strange(self, how, persona="roce"):
        """Returns the environment in which the device is strange, and the file that strange.c writes."""
        lines = self.run_program(support.IWARP, "run", "--env", "--as", persona, plain=True).out.splitlines()
        out = dict(line.split("=", 1) for line in lines)
        # AddressSanitizer's library must remain the first one.
        presence = next(path for path in out["LD_PRELOAD"].split(":") if "presence" in path)
        out["LD_PRELOAD"] = out["LD_PRELOAD"].replace(presence, f"{STRANGE}:{presence}")
        file = self.scratch / "strange"
        return out | {"STRANGE": how, "STRANGE_FILE": str(file)}, file

    def judge_strange(self, how, *words, persona="roce", **more):
        env, _ = self.strange(how, persona)
        return self.run_program(support.IWARP, "conform", "--device=iwarp0", *words, plain=True, env=env, **more)

    def assert_one_line(self, result, pattern):
        self.assertRegex(result.err, rf"\A(iwarp conform|iwarp_judge): {pattern}\n\Z", str(result))


class OwnDevice(JudgeCase):
    def test_no_case_fails_and_differences_from_the_kernel_are_explained(self):
        for persona, driver in PERSONAS.items():
            with self.subTest(persona=persona):
                report = self.scratch / persona
                said = self.judge(f"--json={report}", persona=persona, statuses=(0, 1))
                found = json.loads(report.read_text())
                failed = [(case["id"], case["detail"]) for case in found["cases"] if case["result"] == "fail"]
                self.assertEqual(failed, [], said.out[-4000:])
                self.assertEqual(differences.problems(driver, found), [])
                self.assertEqual((found["summary"]["ended_early"], said.status), ("", 0))
                self.assertGreater(found["summary"]["passed"], len(found["cases"]) // 2)
                self.assertEqual(found["device"], "iwarp0")
                self.assertEqual(found["transport"] == "iWARP", persona == "iwarp")

    def test_an_end_with_the_completions_of_an_rnic_does_not_fail_its_peer(self):
        only = ("qp/destroy/peer", "qp/destroy/uc-peer", "data/gone/first", "data/gone/second")
        said = self.judge(*(f"--only={id}" for id in only), env={"IWARP_COMPLETIONS": "sent"})
        self.assertIn("8 cases, 8 passed", said.out)

    def test_a_difference_that_is_not_explained_or_stale_is_a_problem(self):
        step = {"call": "f", "expected": "0", "observed": "EIO", "right": False}
        found = differences.problems("rxe", {"cases": [{"id": "x/y", "result": "fail", "steps": [step]}]})
        self.assertIn('unexplained difference: x/y: f: rxe has "0", this device "EIO"', found)
        stale = [line for line in found if line.startswith("stale entry: ")]
        self.assertTrue(stale and all("wrong='ours'" in line for line in stale), stale)

    def test_under_iwarp_run(self):
        said = self.run_program(support.IWARP, "conform", "--device=iwarp0", "--only=device/ping",
                                options=("--as", "roce"))
        self.assertIn("1 cases, 1 passed, 0 failed, 0 refused, 0 not applicable", said.out)

    def test_like_a_card(self):
        said = self.run_program(support.IWARP, "conform", "--device=mlx5_0", "--like=connectx", "--only=device/ping",
                                plain=True)
        self.assertIn("1 cases, 1 passed", said.out)


class Options(JudgeCase):
    def test_list(self):
        cases = json.loads(self.judge("--list", "--json").out)
        ids = [case["id"] for case in cases]
        self.assertEqual(len(ids), len(set(ids)), "ids are unique")
        for case in cases:
            self.assertRegex(case["id"], r"^[a-z0-9-]+(/[a-z0-9-]+)+$")
            self.assertEqual(case["section"], case["id"].split("/")[0])
        text = self.judge("--list").out.splitlines()
        self.assertEqual([line.split()[0] for line in text], [*ids, str(len(ids))])

    def test_dangerous_cases_run_on_request_only(self):
        def ids(*words):
            return {case["id"] for case in json.loads(self.judge("--list", "--json", *words).out)}
        self.assertLessEqual(ids(), ids("--dangerous"))

    def test_only(self):
        said = self.judge("--only=device/ping", "--only", "device/port/unknown").out
        self.assertRegex(said, r"(?s)^\n  device\n.*device/port/unknown: .*device/ping: .*\n2 cases, 2 passed")

    def test_lines(self):
        lines = self.judge("--lines", "--only=device/p", persona="iwarp").out.splitlines()
        keys = [line.partition(" = ")[0] for line in lines]
        self.assertEqual(len(keys), len(set(keys)), "keys are unique")
        self.assertIn("device/port/unknown: ibv_query_port, port 0 = EINVAL", lines)
        self.assertIn("device/ping: verdict = pass", lines)

    def test_junit(self):
        file = self.scratch / "report.xml"
        self.judge(f"--junit={file}", "--only=device/ping")
        suite = xml.parse(file).getroot().find("testsuite")
        self.assertEqual((suite.get("name"), suite.get("tests"), suite.get("failures")), ("device", "1", "0"))

    def test_port_and_gid_index(self):
        self.judge("--port=1", "--gid-index=1", "--only=device/ping")
        self.assert_one_line(self.judge("--port=2", statuses=(2,)), "--port 2: the last port of iwarp0 is 1")
        self.assert_one_line(self.judge("--gid-index=200", statuses=(2,)),
                             r"--gid-index 200: the GID table of iwarp0 has \d+ entries")


class Failures(JudgeCase):
    def judge_faulty(self, *words, **how):
        """Runs the judge on a device whose first object in each process cannot be created."""
        plan = self.scratch / "plan"
        plan.write_text("after 1 creation fail ENOMEM\n")
        return self.run_program(support.IWARP, "conform", "--device=iwarp0", "--only=device/ping", *words,
                                options=("--as", "roce", "--quiet", "--fault", plan), statuses=(1,), **how)

    def test_a_failure_says_what_was_called_expected_and_came(self):
        said = self.judge_faulty().out
        self.assertRegex(said, "(?s)\u00d7 device/ping: delivers a Send\n"
                               "      -> Called:   ibv_alloc_pd\n"
                               "         Expected: 0\n"
                               "         Actual:   ENOMEM\n.*"
                               "\nFailed:\n  device/ping .*"
                               "1 cases, 0 passed, 1 failed, 0 refused, 0 not applicable\n$")

    def test_a_failure_in_json_and_junit(self):
        file = self.scratch / "report.xml"
        found = json.loads(self.judge_faulty("--json", f"--junit={file}").out)
        self.assertEqual(found["cases"][0]["detail"], "ibv_alloc_pd: expected 0; observed ENOMEM")
        self.assertEqual(found["summary"]["failed"], 1)
        failure = xml.parse(file).getroot().find("testsuite/testcase/failure")
        self.assertEqual(failure.get("message"), "ibv_alloc_pd: expected 0; observed ENOMEM")

    def test_a_case_that_crashes_or_stalls_is_the_only_one_that_fails(self):
        for how, observed in (("crashes", f'crashed with signal {signal.SIGABRT.value} after "ibv_query_device"'),
                          ("stalls", 'stalled after "ibv_query_device"')):
            with self.subTest(how=how):
                said = self.judge_strange(how, *TWO_CASES, "--json", "--timeout=5", statuses=(1,))
                results = {case["id"]: case for case in json.loads(said.out)["cases"]}
                self.assertEqual(results["device/port/unknown"]["result"], "pass")
                self.assertEqual(results["device/ping"]["result"], "fail")
                self.assertRegex(results["device/ping"]["observed"], observed.split(" after ")[0])


class Generated(JudgeCase):
    """Generated sequences on a device that is faulty on purpose. Each program that shows a fault is tried with the
    fault and without."""

    def faulty(self, rule):
        plan = self.scratch / "plan"
        plan.write_text(rule + "\n")
        return ("--as", "roce", "--quiet", "--fault", plan)

    def test_a_difference_is_shrunk_to_a_program_that_shows_it(self):
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        for rule, what in (("every 3 sends qp any fail EIO", "the call returns 5"),
                           ("from 1 to 1000 completions qp any status LOC_LEN_ERR", "local length error")):
            with self.subTest(rule=rule):
                source, program = self.scratch / "sequence.c", self.scratch / "sequence"
                report = json.loads(self.run_program(
                    support.IWARP, "conform", "--device=iwarp0", "--generated=1..20", f"--program={source}", "--json",
                    options=self.faulty(rule), statuses=(1,)).out)
                found = next(case for case in report["cases"] if case["result"] == "fail")
                self.assertIn(what, found["detail"])
                steps = [line for line in found["frames"].splitlines() if " posts " in line]
                self.assertLessEqual(len(steps), 2, "the sequence is short")
                self.run_program("cc", "-o", program, source, "-libverbs", plain=True)
                self.assertRegex(self.run_program(program, "iwarp0", options=self.faulty(rule), statuses=(1,)).out,
                                 rf"(?m)^difference: .*{what}")
                self.run_program(program, "iwarp0", options=("--as", "roce", "--quiet"))

    def test_choice(self):
        ids = [case["id"] for case in json.loads(self.judge("--generated", "--list", "--json").out)]
        self.assertIn("generated/short-receive", ids)
        said = self.judge("--generated=1..30", "--only=generated/none").out
        self.assertIn("1 cases, 1 passed", said)

    def test_usage(self):
        for word in ("5..1", "x", "1..", "1...3"):
            with self.subTest(word=word):
                self.assert_one_line(self.judge(f"--generated={word}", statuses=(2,)),
                                     f"--generated={re.escape(word)}: not FIRST..LAST")


class StrangeDevices(JudgeCase):
    def test_unknown(self):
        self.assert_one_line(self.judge(device="rxe7", statuses=(2,)),
                             r'unknown device "rxe7" \(the devices are: iwarp0\)')

    def test_no_permission(self):
        self.assert_one_line(self.judge_strange("closed", statuses=(2,)),
                             r"iwarp0: ibv_open_device: EACCES \(the user needs access to /dev/infiniband/uverbs\*\)")

    def test_that_vanishes(self):
        said = self.judge_strange("gone", *TWO_CASES, statuses=(1,))
        self.assertRegex(said.out, r"\nEnded early: the device iwarp0 is gone\n2 cases, 1 passed, 1 failed, ")

    def test_without_rdma_cm(self):
        said = self.judge_strange("no-cm", *TWO_CASES, persona="iwarp")
        self.assertIn("-> an iWARP device connects only by rdma_cm, which is unavailable\n", said.out)
        self.assertIn("2 cases, 1 passed, 0 failed, 0 refused, 1 not applicable", said.out)

    def test_without_gids(self):
        said = self.judge_strange("no-gids", *TWO_CASES)
        self.assertIn("-> the port has no GID\n", said.out)
        self.assertIn("2 cases, 1 passed, 0 failed, 0 refused, 1 not applicable", said.out)

    def test_that_refuses(self):
        only = {"data/wr/plain-queue-pair": "pass", "data/wr/": "refused", "cq-ex/": "not applicable",
                "device/ping": "pass"}
        said = self.judge_strange("refuses", *(f"--only={begin}" for begin in only), "--json")
        cases = json.loads(said.out)["cases"]
        self.assertGreater(len(cases), 30)
        for case in cases:
            with self.subTest(case=case["id"]):
                expected = next(result for begin, result in only.items() if case["id"].startswith(begin))
                self.assertEqual(case["result"], expected, case["detail"])


class BadInput(JudgeCase):
    def test_usage(self):
        for words, what in (
                (("--device=iwarp0", "127.0.0.1"),
                 r"--device cannot be combined with HOST or --serve \(--device judges a device of this machine, "
                 r"HOST and --serve test a peer\)"),
                (("--as=roce",), "--as and --like require --device"),
                (("--device=iwarp0", "--should"), 'unknown option "--should".*'),
                (("--device=iwarp0", "--port=0"), ".*--port.*"),
                (("--device=iwarp0", "--as=roce", "--only=nothing/"),
                 r'no case id begins with "nothing/" \(--list shows all cases\)'),
                (("--device=iwarp0", "--lines", "--json"), ".*--json.*"),
        ):
            with self.subTest(words=words):
                self.assert_one_line(self.run_program(support.IWARP, "conform", *words, plain=True, statuses=(2,)),
                                     what)

    def test_a_report_that_cannot_be_written(self):
        for words in (("--json=/dev/full",), ("--junit=/dev/full",)):
            with self.subTest(words=words):
                said = self.judge("--only=device/ping", *words, statuses=(1,))
                self.assert_one_line(said, f"/dev/full: {os.strerror(errno.ENOSPC).lower()}")
        said = self.judge("--json=/nowhere/report", statuses=(1,))
        self.assert_one_line(said, "/nowhere/report: no such file or directory")

    def test_output_to_a_full_disk(self):
        for words in ((), ("--lines",), ("--list",)):
            with self.subTest(words=words):
                said = self.judge(*words, statuses=(1,), prefix=("sh", "-c", 'exec "$@" > /dev/full', "sh"))
                self.assert_one_line(said, f"standard output: {os.strerror(errno.ENOSPC).lower()}")

    def test_a_stop_signal_gives_a_partial_report_and_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                env, file = self.strange("stalls")
                report = self.scratch / "report.json"
                with Program(support.IWARP, "conform", "--device=iwarp0", *TWO_CASES, f"--json={report}",
                             plain=True, env=env) as program:
                    program.wait_until(lambda: file.exists() and "\n" in file.read_text(), "the stalled case")
                    case = int(file.read_text().splitlines()[-1])
                    program.signal(number)
                    said = self.check(program.wait(), statuses=(1,))
                self.assertIn("\nEnded early: interrupted\n1 cases, 1 passed", said.out)
                self.assertEqual(json.loads(report.read_text())["summary"]["ended_early"], "interrupted")
                self.assertFalse(pathlib.Path(f"/proc/{case}").exists(), "the case has ended")
                file.unlink()


if __name__ == "__main__":
    unittest.main(verbosity=2)
