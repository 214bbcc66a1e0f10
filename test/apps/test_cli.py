# SPDX-License-Identifier: Apache-2.0
"""Command lines that make no sense, help, and info: exit status and the one line on stderr."""
import json

from support import Case, Server, main, run


class Usage(Case):
    def test_nonsense_is_refused_with_one_line(self):
        for words, pattern in (
            ((), r"^iwarp: which command\? \(see iwarp --help\)"),
            (("frobnicate",), r"^iwarp: there is no command frobnicate"),
            (("--frobnicate",), r"^iwarp: "),
            (("get",), r"^iwarp get: .*URL"),
            (("get", "http://host/x"), r"^iwarp get: http://host/x: "),
            (("get", "iwarp://host/"), r"^iwarp get: .*NAME is missing"),
            (("get", "iwarp://host/../x"), r"^iwarp get: "),
            (("put", "x"), r"^iwarp put: .*URL"),
            (("put", "/etc/passwd", "iwarp://host/.x"), r"^iwarp put: "),
            (("ping",), r"^iwarp ping: .*HOST"),
            (("ping", "--server", "host"), r"^iwarp ping: .*no HOST"),
            (("ping", "host", "--size", "25"), r"^iwarp ping: --size: "),
            (("ping", "host", "--count", "-1"), r"^iwarp ping: .*--count"),
            (("serve",), r"^iwarp serve: .*DIR"),
            (("serve", ".", "--listen", "host:99999"), r"^iwarp serve: .*host:99999"),
            (("demo", "--mpa-rev", "3"), r"^iwarp demo: --mpa-rev: "),
            (("demo", "--mpa-rev", "1", "--rtr", "read"), r"^iwarp demo: --rtr read needs"),
            (("demo", "--crc", "maybe"), r"^iwarp demo: --crc: "),
            (("demo", "--fpdu", "127"), r"^iwarp demo: --fpdu: .*127"),
            (("demo", "--size", "0"), r"^iwarp demo: --size: "),
            (("demo", "--size", "65M"), r"^iwarp demo: --size: "),
            (("demo", "extra"), r"^iwarp demo: .*extra"),
        ):
            with self.subTest(words=words):
                self.assert_fails(run(*words), 2, pattern)

    def test_help_teaches(self):
        self.assertIn("iwarp demo", self.assert_ok(run("--help")))
        for command in ("demo", "serve", "get", "put", "ping"):
            with self.subTest(command=command):
                text = self.assert_ok(run(command, "--help"))
                self.assertIn("Examples:\n  iwarp " + command, text)
                for option in ("--mpa-rev", "--crc", "--markers", "--rtr", "--fpdu",
                               "--placement", "--trace"):
                    self.assertIn(option, text)


class Failures(Case):
    def test_what_cannot_be_reached_fails_with_one_line(self):
        with Server("serve", self.dir) as server:
            port = server.port
            self.assert_fails(run("serve", self.dir, "--listen", f"127.0.0.1:{port}"), 1,
                              rf"^iwarp serve: cannot listen on 127.0.0.1:{port}: address in use$")
        refused = rf"cannot connect to 127.0.0.1:{port}: connection refused$"
        self.assert_fails(run("get", f"iwarp://127.0.0.1:{port}/x", self.out), 1,
                          "^iwarp get: " + refused)
        self.assert_fails(run("put", self.file("x", 1), f"iwarp://127.0.0.1:{port}/x"), 1,
                          "^iwarp put: " + refused)
        self.assert_fails(run("ping", f"127.0.0.1:{port}"), 1, "^iwarp ping: " + refused)

    def test_what_is_not_there_fails_with_one_line(self):
        nowhere = self.scratch / "nowhere"
        missing = "no such file or directory$"
        self.assert_fails(run("serve", nowhere), 1, rf"^iwarp serve: cannot open .*: {missing}")
        self.assert_fails(run("put", nowhere, "iwarp://127.0.0.1:1/x"), 1, rf"nowhere: {missing}")
        self.assert_fails(run("put", self.dir, "iwarp://127.0.0.1:1/x"), 1, "not a regular file$")
        self.assert_fails(run("get", "iwarp://127.0.0.1:1/x", nowhere / "x"), 1, missing)
        self.assert_fails(run("demo", "--trace", nowhere / "x.pcap", "-q"), 1, "^iwarp demo: ")

    def test_a_name_that_does_not_resolve(self):
        self.assert_fails(run("ping", "no-such-host.invalid"), 1,
                          "^iwarp ping: cannot connect to no-such-host.invalid:7174: ")


class Info(Case):
    def test_info_says_what_runs(self):
        text = self.assert_ok(run("info"))
        info = json.loads(self.assert_ok(run("info", "--json")))
        self.assertIn(info["crc32c"]["in_use"], info["crc32c"]["available"])
        self.assertIn("portable", info["crc32c"]["available"])
        self.assertEqual(info["defaults"]["mpa_revision"], 2)
        self.assertTrue(info["defaults"]["crc"])
        self.assertIn(info["iwarp"], text)
        self.assertIn(info["crc32c"]["in_use"], text)


main()
