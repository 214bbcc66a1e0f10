# SPDX-License-Identifier: Apache-2.0
"""Command lines that make no sense, help, and info: exit status and the one line on stderr."""
import json
import socket
import threading

from support import PATIENCE, Case, Server, main, run


class OldServer:
    """Closes each connection when its Request has come, as those do that know no revision 2."""

    def __enter__(self):
        self.revisions = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(PATIENCE)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        # A connection that does not begin with a Request ends the thread.
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.thread.join()
        self.socket.close()

    def serve(self):
        while True:
            peer, _ = self.socket.accept()
            with peer:
                request = peer.recv(512)
                if not request.startswith(b"MPA ID Req Frame"):
                    return
                self.revisions.append(request[17])


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
            (("ping", "host", "--size", "5M"), r"^iwarp ping: --size: "),
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
                               "--placement", "--extensions", "--first-fpdu-delay", "--trace"):
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

    def test_an_old_server_is_asked_for_revision_1_unless_told_not_to(self):
        for command in ("ping", "get"):
            for options, asked in (((), [2, 1]), (("--mpa-rev", "2-only"), [2]),
                                   (("--mpa-rev", "1"), [1])):
                with self.subTest(command=command, options=options), OldServer() as server:
                    host = f"127.0.0.1:{server.port}"
                    words = (host,) if command == "ping" else (f"iwarp://{host}/x", self.out)
                    self.assert_fails(run(command, *words, *options), 1, "cannot connect to " + host)
                    self.assertEqual(server.revisions, asked)

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
