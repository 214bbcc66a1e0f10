# SPDX-License-Identifier: Apache-2.0
"""Tests TLS between the commands, with certificates and with shared keys. test/tls and
test/rdma_core/test_tls_programs.py check which peers are refused, and with which error message. openssl(1) makes the
certificates."""
import pathlib
import shutil
import sys
import tempfile

from support import Case, Server, main, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "rdma_core"))
from credentials import Authority  # noqa: E402

SKIPPED = 77


class Tls(Case):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.ca = Authority(cls.folder, "ca")
        cls.ca.issue("server", "IP:127.0.0.1")
        cls.ca.issue("client", "DNS:client")
        (cls.folder / "keys").write_text("lab:" + "5a" * 32 + "\n")

    def key(self):
        return "--tls-psk", self.folder / "keys"

    def test_files_go_there_and_back(self):
        served = self.folder / "served"
        served.mkdir()
        data = bytes(range(256)) * 5000
        (self.folder / "data").write_bytes(data)
        for server, client in ((self.ca.own("server"), self.ca.own("client")), (self.key(), self.key())):
            with self.subTest(server=server), Server("serve", served, *server) as at:
                self.assert_ok(run("put", self.folder / "data", at.url("data"), "-q", *client))
                self.assert_ok(run("get", at.url("data"), self.folder / "back", "-q", *client))
                self.assertEqual((self.folder / "back").read_bytes(), data)

    def test_ping_and_who_is_refused(self):
        with Server("ping", "--server", *self.ca.own("server")) as server:
            ping = ("ping", server.address, "--count", 3, "-q", "--verify")
            self.assert_ok(run(*ping, *self.ca.own("client")))
            self.assert_fails(run(*ping), 1, r"the peer uses TLS and this end does not "
                                             r"\(use TLS at both ends or at neither\)$")
            status, log = server.stop()
            self.assertEqual(status, 0)
            self.assertIn("failed (carrier): this end uses TLS and the peer does not "
                          "(use TLS at both ends or at neither)", log)

    def test_perf(self):
        short = ("--duration", 0.2, "--warm-up", 0, "--check")
        self.assert_ok(run("perf", "--self", "write-bw", *short, *self.key()))
        self.assert_ok(run("perf", "--self", "send-lat", *short, *self.ca.own("server")))
        self.assert_fails(run("perf", "--self", "tcp-stream", *short, *self.key()), 2,
                          "--tls: tcp-stream uses plain TCP$")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("SKIPPED: openssl(1) is not installed")
        sys.exit(SKIPPED)
    main()
