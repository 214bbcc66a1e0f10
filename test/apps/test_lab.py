# SPDX-License-Identifier: Apache-2.0
"""Tests iwarp lab without a browser. Its WebAssembly module must compute the same results as the native build, and
the command must serve its page. The test runs 4,000 sessions, or 100,000 with IWARP_LONG=1."""
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import unittest

from support import Case, main, run, start

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["IWARP_BUILD"])
MODULE = BUILD / "apps/lab/lab.wasm"
PAGE = BUILD / "apps/lab/lab.html"
HAS_PAGE = PAGE.exists()
LONG = os.environ.get("IWARP_LONG") == "1"
SESSIONS = 100_000 if LONG else 4_000
SEED = int(os.environ.get("IWARP_SEED", "1"))
LIMIT = 2 * 1024 * 1024


def output(*command):
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=1800, check=False)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout.strip()


class Lab:
    """Runs a server until the end of the with block."""

    def __enter__(self):
        self.process = start("lab")
        line = self.process.stdout.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
        return self

    def ask(self, method, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.status = self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


@unittest.skipUnless(HAS_PAGE, "SKIPPED: built without the wasm32 tools, esbuild or React, so there is no lab")
class With(Case):
    def test_the_module_has_the_octets_of_the_native_build(self):
        if not shutil.which("node"):
            self.skipTest("node is missing, so the module is not compared with the native build")
        native = output(os.environ["LAB_DIGEST"], SEED, SESSIONS)
        module = output("node", HERE / "programs/lab_digest.mjs", MODULE, SEED, SESSIONS)
        self.assertEqual(native, module, f"{SESSIONS} sessions from seed {SEED}")
        print(f"{SESSIONS} sessions from seed {SEED}: {native} of both builds")

    def test_one_small_file(self):
        page = self.scratch / "lab.html"
        self.assert_ok(run("lab", "--save", page))
        self.assertEqual(page.read_bytes(), PAGE.read_bytes())
        self.assertLess(page.stat().st_size, LIMIT)
        self.assert_fails(run("lab", "--save", self.scratch), 1, "cannot write")
        self.assert_fails(run("lab", "--save", page, "--port", "1"), 2, "excludes")

    def test_it_is_served(self):
        with Lab() as lab:
            self.assertEqual(lab.ask("GET", "/"), (200, PAGE.read_bytes()))
            self.assertEqual(lab.ask("HEAD", "/"), (200, b""))
            self.assertEqual(lab.ask("GET", "/etc/passwd"), (404, b""))
            self.assert_fails(run("lab", "--port", lab.port), 1,
                              r"cannot listen on \S+: address already in use \(choose another address or port, ")
            silent = [socket.create_connection(("127.0.0.1", lab.port)) for _ in range(8)]
            with socket.create_connection(("127.0.0.1", lab.port), timeout=60) as chatty:
                chatty.sendall(b"x" * 9000)
                with self.assertRaises((ConnectionError, AssertionError)):
                    self.assertNotEqual(chatty.recv(1), b"")
            self.assertEqual(lab.ask("GET", "/")[0], 200)
            for client in silent:
                client.close()
        self.assertEqual(lab.status, 0)


@unittest.skipIf(HAS_PAGE, "built with the page")
class Without(Case):
    def test_it_is_refused(self):
        self.assert_fails(run("lab"), 1, "built without the lab page")


main()
