# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp conform` from end to end. This stack's peers must pass every case. The command must handle usage
errors, lists, reports, an absent peer, a peer that disconnects, and an interrupt."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as xml

from support import Case, IWARP, TIMEOUT, Server, finish, main, run, start

# Reasons for which a case may be skipped with this stack's peer: a part of the reason's text, and a function that
# returns whether this reason is allowed with the options of the peer.
MAY_SKIP = (
    ("the peer does not request markers", lambda options: "--markers" not in options),
    ("the peer requests CRCs", lambda options: "--crc=off" not in options),
    ("the peer does not request CRCs", lambda options: "--crc=off" in options),
    ("the peer does not request peer-to-peer mode", lambda options: "--rtr=" not in options),
    ("the peer requests peer-to-peer mode", lambda options: "--rtr=" in options),
    # With acknowledged completions, peers of this stack offer a larger IRD, for the Reads that request
    # acknowledgements. A TCP segment does not have room for as many Read Requests as this IRD permits.
    ("the peer's IRD is too large: the case cannot exceed it within one TCP segment",
     lambda options: "acked" in options),
    ("the peer advertises fewer octets", lambda options: "--size=" not in options),
    # The peer's program reacts to a meaningless message, so the peer may end the stream before the rest of the
    # burst arrives.
    ("the peer's program ended the stream before its posted receives ran out", lambda options: True),
)
# Cases that a peer with this option must fail.
MUST_FAIL = {"--crc=off": {"mpa/startup/crc-by-default"}}
# The SHOULD cases run only with --markers, because some of them last until the peer's timeout expires.
SERVERS = ("", "--markers", "--crc=off", "--completions=acked")
CLIENTS = ("--size=1M", "--markers --size=1M", "--crc=off", "--rtr=write", "--rtr=read",
           "--rtr=send", "--completions=acked")


class OwnPeer(Case):
    """Runs the cases against `iwarp ping`. A case that fails or is skipped shows a bug in the stack or in the case."""

    def run_cases(self, role, options, *arguments):
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            should = ["--should"] if "--markers" in options else []
            # This limit is long enough for a peer with a sanitizer while other tests run.
            done = run("conform", *arguments, *should, "--timeout=30",
                       f"--json={report.name}", timeout=900)
            results = json.load(report)
        self.assertEqual(results["role"], role)
        self.assertEqual(results["summary"]["ended_early"], "", done.stdout)
        return options, results["cases"]

    def run_server(self, options):
        with Server("ping", "--server", *options.split()) as server:
            return self.run_cases("responder", options, server.address)

    def run_client(self, options):
        client = f"{IWARP} ping 127.0.0.1:%p --count 1 --quiet {options}"
        return self.run_cases("initiator", options, "--serve", "0", "--client", client)

    def check(self, run_peer, all_options):
        """No case may fail, no case may be skipped without an allowed reason, and each case must pass with at least
        one element of `all_options`."""
        wrong, passed, seen = [], set(), set()
        with concurrent.futures.ThreadPoolExecutor(len(all_options)) as pool:
            for options, cases in pool.map(run_peer, all_options):
                failing = MUST_FAIL.get(options, set())
                for case in cases:
                    seen.add(case["id"])
                    if case["result"] == "pass":
                        passed.add(case["id"])
                    skip = case["result"] == "skipped" and any(
                        why in case["detail"] and holds(options) for why, holds in MAY_SKIP)
                    as_it_should = (case["result"] == "fail" if case["id"] in failing
                                    else case["result"] == "pass" or skip)
                    if not as_it_should:
                        wrong.append(f"{options}: {case['result']} {case['id']}: {case['detail']}")
        wrong += [f"{case} passes with no options" for case in sorted(seen - passed)]
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertGreater(len(passed), 150)

    def test_both_roles(self):
        # Both roles are tested in parallel, because each spends most of its time waiting.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            roles = [pool.submit(self.check, self.run_server, SERVERS),
                     pool.submit(self.check, self.run_client, CLIENTS)]
        for role in roles:
            role.result()


class Generated(Case):
    """Runs sessions that are generated from fields, limits and states. With IWARP_LONG=1, runs all of them."""
    CHOICE = [] if os.environ.get("IWARP_LONG") == "1" else ["--cases=200", "--pairs=40"]
    SEED = os.environ.get("IWARP_SEED", "1")

    def check(self, role, *arguments):
        report = self.scratch / "generated.json"
        done = run("conform", "--generated", f"--seed={self.SEED}", *self.CHOICE, "--silence=30",
                   "--timeout=30", f"--json={report}", *arguments, timeout=1800)
        results = json.loads(report.read_text())
        self.assertEqual(results["role"], role)
        self.assertEqual(results["ended_early"], "")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertGreaterEqual(len(results["sessions"]), 240)
        self.assertTrue(all(session["right"] for session in results["sessions"]))
        return report

    def test_a_peer_that_listens(self):
        with Server("ping", "--server") as server:
            report = self.check("responder", server.address)
        compare = pathlib.Path(__file__).with_name("compare.py")
        done = subprocess.run([sys.executable, compare, report, report], capture_output=True,
                              text=True, timeout=60, check=True)
        self.assertIn("; 0 differ, in 0 ways", done.stdout)

    def test_a_peer_that_connects(self):
        client = f"{IWARP} ping 127.0.0.1:%p --count 1 --quiet"
        self.check("initiator", "--serve", "0", "--client", client)

    def test_a_choice_that_is_none(self):
        self.assert_fails(run("conform", "--generated", "HOST", "--only", "nonsense"), 2,
                          "--only, --after and --cases select no session")

    def test_the_list_without_a_role_has_the_sessions_of_both_roles(self):
        listed = self.assert_ok(run("conform", "--generated", "--list"))
        self.assertIn("read-asked/", listed)
        self.assertIn("after-send/", listed)
        connecting = self.assert_ok(run("conform", "--generated", "--list", "--serve", "1"))
        self.assertNotIn("read-asked/", connecting)

    def test_a_peer_that_is_wrong_is_told(self):
        with peer_that_goes(10) as port:
            done = run("conform", f"127.0.0.1:{port}", "--generated", "--cases=1", "--timeout=30")
        self.assertEqual(done.returncode, 1)


@contextlib.contextmanager
def peer_that_goes(after):
    """The peer serves one exchange, closes `after` connections at once, and then stops listening."""
    def run_peer(listener, server):
        with listener:
            relayed, _ = listener.accept()
            onward = socket.create_connection(("127.0.0.1", server.port), TIMEOUT)
            back = threading.Thread(target=relay, args=(onward, relayed), daemon=True)
            back.start()
            relay(relayed, onward)
            back.join(TIMEOUT)
            for _ in range(after - 1):
                listener.accept()[0].close()
            # The tester connects again as soon as this connection ends.
            last, _ = listener.accept()
            listener.close()
            last.close()

    def relay(source, sink):
        with contextlib.suppress(OSError):
            while octets := source.recv(1 << 16):
                sink.sendall(octets)
            sink.shutdown(socket.SHUT_WR)

    with Server("ping", "--server") as server:
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=run_peer, args=(listener, server), daemon=True).start()
        yield listener.getsockname()[1]


def waiting(*arguments):
    """Starts `iwarp conform` without a client command. Returns the process and the port on which it waits for a
    client."""
    conform = start("conform", "--serve", "0", *arguments)
    return conform, int(re.search(r":(\d+)$", conform.stderr.readline().strip())[1])


class Reports(Case):
    def test_each_form_says_the_same(self):
        report, suite = self.scratch / "report.json", self.scratch / "suite.xml"
        one = ("--only", "mpa/crc/wrong-field")
        with Server("ping", "--server") as server:
            peer = server.address
            text = self.assert_ok(run("conform", peer, "--only", "mpa/crc", "--only",
                                      "5040 5", f"--json={report}", "--junit", suite))
            alone = self.assert_ok(run("conform", "--json", peer, *one))
            behind = self.assert_ok(run("conform", *one, peer))
            verbose = self.assert_ok(run("conform", peer, "-v", *one))
        results = json.loads(report.read_text())
        n = len(results["cases"])
        self.assertGreater(n, 1)
        self.assertEqual(results["peer"], peer)
        self.assertIn(f"{n} cases, {n} passed, 0 failed, 0 skipped\n", text)
        self.assertEqual(text.count("\u2714"), n)
        self.assertNotIn("\x1b", text)
        root = xml.parse(suite).getroot()
        self.assertEqual(root.get("tests"), str(n))
        self.assertEqual(len(root.findall("testsuite/testcase")), n)
        self.assertEqual([c["result"] for c in json.loads(alone)["cases"]], ["pass"])
        self.assertIn("1 cases, 1 passed", behind)
        self.assertIn("conform --> peer  MPA Request", verbose)
        self.assertIn("RDMAP Terminate 2/0/02", verbose)

    def test_a_failure_is_shown_and_counts(self):
        with Server("ping", "--server", "--crc=off") as server:
            done = run("conform", server.address, "--only", "mpa/startup/crc-by-default")
        self.assertEqual(done.returncode, 1)
        self.assertIn("\u00d7 mpa/startup/crc-by-default", done.stdout)
        self.assertIn("-> Expected: ", done.stdout)
        self.assertRegex(done.stdout, "1 cases, 0 passed, 1 failed, 0 skipped\n$")

    def test_a_report_that_cannot_be_written_fails_at_once(self):
        for options in (("--json=",), ("--junit=",), ("--generated", "--json=")):
            with self.subTest(options=options):
                *kind, option = options
                self.assert_fails(run("conform", "192.0.2.1", *kind, f"{option}{self.scratch}/none/x"), 1,
                                  "none/x: no such file or directory$")
        self.assert_fails(run("conform", "192.0.2.1", "--generated", "--junit=x"), 2, "excludes")


class Lists(Case):
    def test_every_case_with_its_role(self):
        text = self.assert_ok(run("conform", "--list", "--should"))
        cases = json.loads(self.assert_ok(run("conform", "--list", "--should", "--json")))
        self.assertEqual(text.count("\n"), len(cases) + 1)
        self.assertEqual({case["role"] for case in cases}, {"responder", "initiator", "either"})

    def test_role_level_and_choice_count(self):
        def ids(*arguments):
            return {c["id"] for c in json.loads(self.assert_ok(run("conform", "--list", "--json", *arguments)))}
        self.assertTrue(ids("HOST").isdisjoint(ids("--serve", "1") - ids("HOST")))
        self.assertNotEqual(ids("HOST"), ids("--serve", "1"))
        self.assertLessEqual(ids(), ids("--should"))
        self.assertEqual(ids("--only", "mpa/crc/wrong-field"), {"mpa/crc/wrong-field"})


class Usage(Case):
    def test_what_makes_no_sense(self):
        for arguments, words in (
                ([], "HOST is missing"),
                (["127.0.0.1", "--serve", "1"], "exclude each other"),
                (["127.0.0.1", "--client", "true"], "--client requires --serve"),
                (["127.0.0.1", "--only", "nonsense"], "begins with \"nonsense\""),
                (["127.0.0.1", "--timeout", "0"], "timeout"),
                (["127.0.0.1:x"], 'invalid address "127.0.0.1:x"')):
            with self.subTest(arguments=arguments):
                self.assert_fails(run("conform", *arguments), 2, words)


class Others(Case):
    """Peers that do not serve rping's exchange are not accused of breaking rules."""

    def check(self, what, *arguments):
        for kind in ((), ("--generated",)):
            with self.subTest(what=what, kind=kind):
                done = run("conform", *arguments, *kind)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertRegex(done.stderr, f"does not speak rping's protocol over iWARP; "
                                              f"observed {what} ")

    def check_port(self, what, answer=None):
        def run_peer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.recv(1 << 10)
                    connection.sendall(answer)
                    connection.close()

        with socket.create_server(("127.0.0.1", 0)) as listener:
            if answer is not None:
                threading.Thread(target=run_peer, daemon=True).start()
            self.check(what, f"127.0.0.1:{listener.getsockname()[1]}", f"--timeout={TIMEOUT if answer else 0.2}")

    def test_other_protocols(self):
        self.check_port('"HTTP/1.1 400 Bad Request"', b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        self.check_port("TLS", bytes((21, 3, 3, 0, 2, 2, 10)))
        self.check_port(r"TCP closed \(FIN\)", b"")

    def test_a_silent_port(self):
        self.check_port("nothing within the time limit")

    def test_iwarp_with_another_program(self):
        with Server("serve", self.dir) as server:
            self.check("MPA startup, and then .*", server.address)
        fetches = f"{IWARP} get iwarp://127.0.0.1:%p/x {self.out}"
        self.check("MPA startup, and then .*", "--serve", "0", "--client", fetches)


class Peers(Case):
    def test_nobody_there(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            self.assert_fails(run("conform", address), 1,
                              rf"cannot connect to {address}: connection refused \(no program listens there: .*\)$")

    def test_nobody_connects(self):
        done = run("conform", "--serve", "0", "--client", "true", "--timeout", "0.2")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "no peer connected within the time limit\n$")

    def test_a_client_command_that_fails_is_told_from_one_that_never_comes(self):
        for command, how in (("exit 3", "failed with exit status 3"),
                             ("no-such-program", "failed with exit status 127"),
                             ("kill -9 $$", "was killed by signal 9")):
            with self.subTest(command=command):
                done = run("conform", "--serve", "0", "--client", command)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"the client command {how} before the peer connected: ", done.stderr)

    def test_a_port_alone_is_one_of_all_addresses(self):
        conform, port = waiting("--only", "mpa/crc/wrong-field")
        # The tester must accept a client that uses another address of this machine than the usual 127.0.0.1.
        run("ping", f"127.0.0.2:{port}", "--count", 1)
        ended = finish(conform)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("1 cases, 1 passed", ended.stdout)

    def test_a_peer_that_goes_ends_the_run(self):
        with peer_that_goes(1) as port:
            done = run("conform", f"127.0.0.1:{port}", "--timeout=30")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"(?m)^Ended early: cannot connect to 127\.0\.0\.1:{port}: .+ "
                                      r"\(check that the peer still works, then repeat the run\)$")
        self.assertIn("4 cases, ", done.stdout)

    def test_an_interrupt_ends_with_the_summary(self):
        conform, _ = waiting()
        ended = finish(conform, signal.SIGINT)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("Ended early: interrupted\n", ended.stdout)
        self.assertIn("0 cases, 0 passed", ended.stdout)


main()
