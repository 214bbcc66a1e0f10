# SPDX-License-Identifier: Apache-2.0
"""Clients that break the rules: the server refuses, keeps its directory clean, and lives on."""
import os
import socket
import subprocess

from support import Case, PATIENCE, Server, main, run

CLIENT = os.environ.get("HOSTILE_CLIENT", "build/release/test/apps/test_hostile_client")


class Hostile(Case):
    def setUp(self):
        super().setUp()
        (self.scratch / "secret").write_text("secret")
        (self.dir / "good").write_text("good")
        self.server = Server("serve", self.dir)
        self.addCleanup(self.server.__exit__)
        self.addCleanup(self.check_server)

    def check_server(self):
        """Whatever was tried: it still serves, and nothing new is there."""
        self.assert_ok(run("get", self.server.url("good"), self.out))
        self.assertEqual(self.names(self.dir), ["good"])
        self.assertEqual(self.names(self.scratch), ["dir", "out", "secret"])
        status, _ = self.server.stop()
        self.assertEqual(status, 0)

    def attack(self, *arguments):
        result = subprocess.run([CLIENT, self.server.address, *arguments], capture_output=True,
                                text=True, timeout=PATIENCE, check=True)
        return result.stdout.strip()

    def test_names_cannot_leave_the_directory(self):
        for name in ("../secret", "..", ".", "/etc/passwd", "good/../../secret", "sub/good",
                     ".iwarp-0123456789abcdef.part", "", "a\nb", "\x1b[2J"):
            for verb in ("get", "put"):
                with self.subTest(verb=verb, name=name):
                    self.assertRegex(self.attack(verb, name),
                                     "^refused: .*not a name this server takes$")

    def test_broken_rules_of_the_protocol(self):
        for attack, answer in (
            ("huge", "^refused: no room for 18446744073709551615 octets"),
            ("garbage", "^refused: .*does not speak the file protocol"),
            ("out-of-turn", "^refused: .*does not fit here"),
            ("wrong-offset", "^refused: .*window that does not fit"),
            ("short-window", "^refused: .*window that does not fit"),
            ("early-finish", "^refused: .*does not fit here"),
            ("wrong-digest", "^refused: .*SHA-256 differs"),
            ("too-long", "^gone: .*terminated the stream: "),
            ("dead-stag", "^gone: the stream was terminated: "),
            ("wrong-bounds", "^gone: the stream was terminated: "),
        ):
            with self.subTest(attack=attack):
                self.assertRegex(self.attack(attack), answer)

    def test_connections_that_are_no_iwarp(self):
        for octets in (b"", b"GET / HTTP/1.0\r\n\r\n", os.urandom(4096), b"MPA ID Req Frame"):
            with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE) as raw:
                raw.sendall(octets)


main()
