# SPDX-License-Identifier: Apache-2.0
"""Tests clients that break the protocol. The server must refuse such a client, leave none of its files in the
directory, and continue to serve others."""
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import unittest

import metrics
from support import Case, TIMEOUT, SANITIZER, Server, finish, main, run, start, wait_until

CLIENT = os.environ.get("HOSTILE_CLIENT", "build/release/test/apps/test_hostile_client")


def established(port):
    """Returns a connection whose client has sent a valid Request and then stays silent."""
    out = socket.create_connection(("127.0.0.1", port), TIMEOUT)
    out.sendall(b"MPA ID Req Frame" + bytes((0x40, 1, 0, 0)))
    return out


class Hostile(Case):
    def setUp(self):
        super().setUp()
        (self.scratch / "secret").write_text("secret")
        (self.dir / "good").write_text("good")
        # The client that floods the server sends none of its protocol's messages, so the server would disconnect it
        # after a minute, which a busy machine may need for the other clients of that test.
        self.server = Server("serve", self.dir, "--timeout", 600)
        self.addCleanup(lambda: self.server.__exit__())
        self.addCleanup(self.check_server)

    def check_server(self):
        """After each attack, the server must still serve, and there must be no new files."""
        self.assert_ok(run("get", self.server.url("good"), self.out))
        self.assertEqual(self.names(self.dir), ["good"])
        self.assertEqual(self.names(self.scratch), ["dir", "out", "secret"])
        status, _ = self.server.stop()
        self.assertEqual(status, 0)

    def attack(self, *arguments):
        result = subprocess.run([CLIENT, self.server.address, *arguments], capture_output=True,
                                text=True, timeout=TIMEOUT, check=True)
        return result.stdout.strip()

    def test_names_cannot_leave_the_directory(self):
        for name in ("../secret", "..", ".", "/etc/passwd", "good/../../secret", "sub/good",
                     ".iwarp-0123456789abcdef.part", "", "a\nb", "\x1b[2J"):
            for verb in ("get", "put"):
                with self.subTest(verb=verb, name=name):
                    self.assertRegex(self.attack(verb, name),
                                     "^refused: .*not a valid file name$")

    def test_no_name_reaches_the_log_or_a_terminal_raw(self):
        # Some of these names contain what a terminal interprets as a command: CSI as one byte, and in UTF-8.
        names = (b"\x9b2J", "\u009b2J".encode(), b"\xff\xfe", "r\u00e9sum\u00e9".encode())
        for name in names:
            for verb in ("get", "put"):
                subprocess.run([CLIENT.encode(), self.server.address.encode(), verb.encode(), name],
                               stdout=subprocess.DEVNULL, timeout=TIMEOUT, check=True)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.fsencode(self.dir) + b"/" + name)
        self.server.process.send_signal(signal.SIGTERM)
        log = self.server.process.stdout.buffer.read()
        self.assertEqual(log.count(b"\n"), 2 * len(names))
        self.assertTrue(log.isascii(), log)
        self.server = Server("serve", self.dir)

    def test_failed_setups_are_logged_with_the_reason_that_the_metric_counts(self):
        with Server("serve", self.dir, "--metrics", 0, "--log-format", "json") as server:
            where = metrics.place_of(server.process)

            def next_failure():
                record = {}
                while record.get("event") != "setup_failed":
                    record = json.loads(server.process.stdout.readline())
                count = metrics.Figures(where)("iwarp_setups_failed_total", side="passive", reason=record["reason"])
                return record["peer"], record["reason"], count

            def connect():
                client = socket.create_connection(("127.0.0.1", server.port), TIMEOUT)
                return client, "%s:%d" % client.getsockname()

            other, address = connect()
            other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(next_failure(), (address, "protocol", 1))
            other.close()
            other, address = connect()
            other.close()
            self.assertEqual(next_failure(), (address, "reset", 1))
            # When the server accepts this connection, the kernel no longer knows the address of its peer.
            server.process.send_signal(signal.SIGSTOP)
            other, address = connect()
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            other.close()
            server.process.send_signal(signal.SIGCONT)
            self.assertEqual(next_failure(), (address, "reset", 2))

    def test_broken_rules_of_the_protocol(self):
        for attack, answer in (
            ("huge", "^refused: the peer reports: cannot reserve 18446744073709551615 bytes"),
            ("garbage", "^refused: .*does not speak the file protocol"),
            ("out-of-turn", "^refused: .*unexpected message"),
            ("wrong-offset", "^refused: .*advertised memory for the wrong part of the file"),
            ("short-window", "^refused: .*or of the wrong length"),
            ("early-finish", "^refused: .*unexpected message"),
            ("wrong-digest", "^refused: .*SHA-256 of the received data differs from the client's; the file was discarded"),
            ("too-long", "^gone: .*the peer terminated the stream: "),
            ("dead-stag", "^gone: this end terminated the stream: "),
            ("wrong-bounds", "^gone: this end terminated the stream: "),
        ):
            with self.subTest(attack=attack):
                self.assertRegex(self.attack(attack), answer)

    def test_immediate_data_is_no_buffer_that_is_free_again(self):
        """Requests a file with more pieces than the server has buffers."""
        large = self.dir / "large"
        with open(large, "wb") as file:
            file.truncate(9 << 20)
        try:
            self.assertRegex(self.attack("immediate", "large"),
                             "^refused: .*the peer sent Immediate Data$")
        finally:
            large.unlink()

    def test_a_client_that_floods_keeps_nobody_from_reading(self):
        """A client may fill only its own queues. [SEC-24] [SEC-25] [SEC-36] [SEC-37]"""
        with subprocess.Popen([CLIENT, self.server.address, "flood"], stdout=subprocess.PIPE, text=True) as client:
            try:
                self.assertEqual(client.stdout.readline(), "flooding\n")
                for _ in range(3):
                    self.assert_ok(run("get", "-q", self.server.url("good"), self.out))
                    self.assert_ok(run("put", "-q", self.dir / "good", self.server.url("good")))
                self.assertIsNone(client.poll())
            finally:
                client.kill()

    def test_no_client_reaches_what_another_was_shown(self):
        """Each buffer and STag belongs to a single stream. [SEC-8] [SEC-9] [SEC-20] [SEC-27]"""
        with Server("ping", "--server") as server:
            for case in ("ddp/stag/other-connection", "ddp/stag/read-other-connection",
                         "ddp/stag/earlier-connection"):
                out = self.assert_ok(run("conform", server.address, "--only", case))
                self.assertIn("1 passed, 0 failed", out)

    def test_clients_that_say_nothing_give_way(self):
        with contextlib.ExitStack() as stack:
            for arguments, client in ((("ping", "--server"), self.ping), (("serve", self.dir), self.get)):
                server = stack.enter_context(Server(*arguments, "--max-clients", 4))
                for _ in range(8):
                    stack.enter_context(established(server.port))
                # The server waits some time for the request of a new client before it evicts that client.
                wait_until(lambda run=client, to=server: run(to).returncode == 0, "a place")
                self.assertEqual(server.stop()[0], 0)

    def ping(self, server):
        return run("ping", server.address, "-q")

    def get(self, server):
        return run("get", "-q", server.url("good"), self.out)

    @unittest.skipIf(SANITIZER, "a sanitizer needs more address space itself")
    def test_a_client_without_a_thread_is_refused_and_the_server_stays(self):
        with Server("ping", "--server") as server:
            size = int(re.search(r"VmSize:\s+(\d+) kB", pathlib.Path(f"/proc/{server.pid}/status").read_text())[1])
            before = resource.prlimit(server.pid, resource.RLIMIT_AS)
            # This limit leaves too little memory for the stack of one more thread.
            resource.prlimit(server.pid, resource.RLIMIT_AS, ((size + 2048) * 1024, before[1]))
            self.assert_fails(self.ping(server), 1, "busy: the server cannot create a thread$")
            resource.prlimit(server.pid, resource.RLIMIT_AS, before)
            self.assert_ok(self.ping(server))

    def test_a_name_server_that_does_not_answer_does_not_keep_who_wants_to_stop(self):
        begun = self.scratch / "begun"
        environment = dict(os.environ, LD_PRELOAD=os.environ["SLOW_NAMES"], SLOW_NAMES_BEGUN=begun,
                           ASAN_OPTIONS="verify_asan_link_order=0")
        source = self.dir / "good"
        for command in (("ping", "slow.invalid"), ("get", "iwarp://slow.invalid/good", self.out),
                        ("put", source, "iwarp://slow.invalid/x"),
                        ("perf", "slow.invalid", "write-bw"), ("conform", "slow.invalid")):
            with self.subTest(command=command[0]):
                client = start(*command, env=environment)
                wait_until(begun.exists, "the look-up")
                begun.unlink()
                ended = finish(client, signal.SIGINT)
                self.assertEqual(ended.returncode, 1)
                self.assertIn("interrupted", ended.stdout + ended.stderr)

    def test_connections_that_are_no_iwarp(self):
        for octets in (b"", b"GET / HTTP/1.0\r\n\r\n", random.Random(1).randbytes(4096), b"MPA ID Req Frame"):
            with socket.create_connection(("127.0.0.1", self.server.port), TIMEOUT) as raw:
                raw.sendall(octets)


main()
