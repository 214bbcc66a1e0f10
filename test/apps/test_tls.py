# SPDX-License-Identifier: Apache-2.0
"""Tests TLS between the commands, with certificates and with shared keys. Checks which peers are refused, and with
which error message. openssl(1) makes the certificates."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import Case, Server, main, run

SKIPPED = 77
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


def make_credentials(folder):
    """Makes ca.pem, and NAME.pem with NAME.key for "server" (127.0.0.1) and "client"."""
    openssl(folder, "req", "-x509", *NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=test authority")
    for name, alternative in (("server", "IP:127.0.0.1"), ("client", "DNS:client")):
        openssl(folder, "req", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}")
        (folder / "extensions").write_text(f"subjectAltName={alternative}\n")
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", "extensions", "-out", f"{name}.pem")
    (folder / "keys").write_text("lab:" + "5a" * 32 + "\n")
    (folder / "others").write_text("lab:" + "a5" * 32 + "\n")


class Tls(Case):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        make_credentials(cls.folder)

    def own(self, name):
        return ("--tls-cert", self.folder / f"{name}.pem", "--tls-key", self.folder / f"{name}.key",
                *self.authority())

    def authority(self):
        return "--tls-ca", self.folder / "ca.pem"

    def key(self, name="keys"):
        return "--tls-psk", self.folder / name

    def test_files_go_there_and_back(self):
        served = self.folder / "served"
        served.mkdir()
        data = bytes(range(256)) * 5000
        (self.folder / "data").write_bytes(data)
        for server, client in ((self.own("server"), self.own("client")), (self.key(), self.key())):
            with self.subTest(server=server), Server("serve", served, *server) as at:
                self.assert_ok(run("put", self.folder / "data", at.url("data"), "-q", *client))
                self.assert_ok(run("get", at.url("data"), self.folder / "back", "-q", *client))
                self.assertEqual((self.folder / "back").read_bytes(), data)

    def test_ping_and_who_is_refused(self):
        with Server("ping", "--server", *self.own("server")) as server:
            ping = ("ping", server.address, "--count", 3, "-q", "--verify")
            self.assert_ok(run(*ping, *self.own("client")))
            self.assert_fails(run(*ping), 1, r"the peer uses TLS and this end does not "
                                             r"\(use TLS at both ends or at neither\)$")
            self.assert_fails(run(*ping, *self.authority()), 1,
                              "the peer refused the TLS handshake: certificate required$")
            self.assert_fails(run(*ping, *self.own("client"), "--tls-peer", "elsewhere"), 1,
                              "this end refused the peer's certificate: hostname mismatch$")
            status, log = server.stop()
            self.assertEqual(status, 0)
            self.assertIn("failed (carrier): this end uses TLS and the peer does not "
                          "(use TLS at both ends or at neither)", log)
            self.assertIn("failed (carrier): TLS handshake: peer did not return a certificate", log)

    def test_a_server_without_tls_says_who_came_with_it(self):
        with Server("ping", "--server") as server:
            self.assert_fails(run("ping", server.address, *self.own("client")), 1,
                              r"closed TCP during the TLS handshake \(check that it uses TLS\)$")
            self.assertIn("failed (carrier): the peer uses TLS and this end does not "
                          "(use TLS at both ends or at neither)",
                          server.stop()[1])

    def test_another_key(self):
        with Server("ping", "--server", *self.key()) as server:
            self.assert_ok(run("ping", server.address, "--count", 1, "-q", *self.key()))
            self.assert_fails(run("ping", server.address, *self.key("others")), 1, "refused the TLS handshake")

    def test_perf(self):
        short = ("--duration", 0.2, "--warm-up", 0, "--check")
        self.assert_ok(run("perf", "--self", "write-bw", *short, *self.key()))
        self.assert_ok(run("perf", "--self", "send-lat", *short, *self.own("server")))
        self.assert_fails(run("perf", "--self", "tcp-stream", *short, *self.key()), 2,
                          "--tls: tcp-stream uses plain TCP$")

    def test_options_that_do_not_do(self):
        self.assert_fails(run("ping", "--server", "--tls"), 1,
                          "a TLS server requires a certificate with its private key, or a shared key$")
        self.assert_fails(run("ping", "127.0.0.1", *self.key(), *self.authority()), 1,
                          r"TLS accepts either certificates or a shared key \(set only one of them\)$")
        self.assert_fails(run("ping", "127.0.0.1", "--tls-ca", self.folder / "none"), 1, "none: ")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("SKIPPED: openssl(1) is not installed")
        sys.exit(SKIPPED)
    main()
