# SPDX-License-Identifier: Apache-2.0
"""Tests servers that abuse the memory that a client exposes. get and put may expose exactly the bytes of a window,
and only while the window is in use (RFC 5042)."""
import os
import subprocess

from support import TIMEOUT, Case, main, run

SERVER = os.environ.get("HOSTILE_SERVER", "build/release/test/apps/test_hostile_server")
SIZE = 100_000


class HostileServer(Case):
    def attack(self, attack, command):
        """Returns the result of the client, and the output of the server."""
        with subprocess.Popen([SERVER, attack], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = f"iwarp://127.0.0.1:{int(server.stdout.readline())}/name"
                client = run(*command(url))
                seen = server.communicate(timeout=TIMEOUT)[0]
            finally:
                server.kill()
        self.assertEqual(server.returncode, 0)
        return client, seen

    def get(self, attack):
        return self.attack(attack, lambda url: ("get", "-q", url, self.out / "file"))

    def put(self, attack):
        self.source = self.file("source", SIZE)
        self.before = self.source.read_bytes()
        return self.attack(attack, lambda url: ("put", "-q", self.source, url))

    def check_refused(self, outcome, why):
        client, seen = outcome
        self.assertEqual(client.returncode, 1, client.stdout + client.stderr)
        self.assertRegex(seen, f"^gone: .*the peer terminated the stream: {why}")
        self.assertEqual(self.names(self.out), [])

    def test_a_window_to_be_written_cannot_be_read(self):
        """The server may write to a window of get, but must not read what the memory contained before. [SEC-15]
        [SEC-18] [SEC-35]"""
        self.check_refused(self.get("read"), "0/1/02")

    def test_a_window_to_be_written_takes_no_atomics(self):
        """[SEC-18]"""
        self.check_refused(self.get("add"), "0/1/02")

    def test_a_window_ends_where_the_data_end(self):
        """The access to a window is limited to its exact bytes, at both ends, for Writes and Reads. [SEC-12]
        [SEC-17]"""
        self.check_refused(self.get("write-before"), "1/1/01")
        self.check_refused(self.get("write-behind"), "1/1/01")
        self.check_refused(self.put("read-before"), "0/1/01")
        self.check_refused(self.put("read-behind"), "0/1/01")

    def test_a_guessed_key_opens_nothing(self):
        """[SEC-10]"""
        self.check_refused(self.get("guess"), "1/1/00")

    def test_what_was_checked_does_not_change_any_more(self):
        """The server reports that a window is complete, but continues to write to it. [SEC-13] [SEC-34]"""
        for attack in ("write-after-piece", "write-after-done"):
            for _ in range(5):
                with self.subTest(attack=attack):
                    client, seen = self.get(attack)
                    self.assertRegex(seen, "^gone: ")
                    if client.returncode == 0:
                        self.assertEqual((self.out / "file").read_bytes(), b"A" * SIZE)
                        (self.out / "file").unlink()
                    else:
                        self.assertEqual(client.returncode, 1, client.stderr)
                    self.assertEqual(self.names(self.out), [])

    def test_a_window_to_be_read_cannot_be_written(self):
        """The server may read a window of put, but must not change the file that the client sends. [SEC-18]"""
        self.check_refused(self.put("write"), "1/1/02")
        self.assertEqual(self.source.read_bytes(), self.before)

    def test_a_window_is_open_no_longer_than_it_is_needed(self):
        """[SEC-16]"""
        self.check_refused(self.put("read-after-piece"), "0/1/00")


main()
