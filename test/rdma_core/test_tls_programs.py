# SPDX-License-Identifier: Apache-2.0
"""Tests TLS below unmodified programs: what is on the wire, which peers are refused, and with which message.
Nothing may fall back to plain text."""
import contextlib
import pathlib
import re
import shutil
import tempfile

from credentials import Authority
from hosts import HOSTS, needs_namespaces, own_address, two_hosts, within
from perftest import PerftestCase
from support import Case, Program, free_port, main, skip_all
from wire import Capture, Relay

HANDSHAKE, ALERT = b"\x16\x03", b"\x15\x03"  # first octets of TLS records
CLIENT_HELLO = (HANDSHAKE, 1)  # the record type and version, and the type of the message at its beginning
SERVER_HELLO = (HANDSHAKE, 2)
MPA = b"MPA ID Re"  # beginning of MPA Requests and Replies
RPING = b"rdma-ping-"
PINGPONG = b"\x7b" * 64

scratch = tempfile.TemporaryDirectory(prefix="iwarp-test-")
folder = pathlib.Path(scratch.name)


def make_credentials():
    ours = Authority(folder, "ours")
    for name in ("server", "client"):
        ours.issue(name, *(f"IP:{address}" for address in {"127.0.0.1", own_address(), *HOSTS}))
    others = Authority(folder, "others")
    others.issue("stranger", "IP:127.0.0.1")
    (folder / "keys").write_text("lab:" + "5a" * 32 + "\n")
    return ours, others


def begins(octets):
    """Returns the first two octets of a TLS record (its type, and a part of its version) and the type of its first
    message, in the form of CLIENT_HELLO."""
    return bytes(octets[:2]), octets[5]


class Tls(Case):
    def own(self, name):
        return OURS.own(name)

    def both(self):
        return {"server_how": {"options": self.own("server")}, "client_how": {"options": self.own("client")}}


class Programs(Tls, PerftestCase):
    def test_rping_and_what_passes(self):
        for options in (((), ()), (self.own("server"), self.own("client")),
                        (("--tls-psk", folder / "keys"),) * 2):
            with self.subTest(options=options):
                port, call = free_port(), ("rping", "-a", "127.0.0.1", "-C", 3, "-V", "-p")
                with Relay(port) as relay:
                    self.assert_silent(*self.pair(
                        (*call, port, "-s"), (*call, relay.port, "-c"), port, server_how={"options": options[0]},
                        client_how={"options": options[1]}))
                passed = relay.there + relay.back
                if not options[0]:
                    self.assertIn(RPING, passed)
                    self.assertIn(MPA, passed)
                    continue
                self.assertEqual(begins(relay.there), CLIENT_HELLO)
                self.assertEqual(begins(relay.back), SERVER_HELLO)
                self.assertNotIn(RPING, passed)
                self.assertNotIn(MPA, passed)

    def test_rping_with_queue_pairs_of_its_own(self):
        self.assert_silent(*self.rping("-q", "-C", 3, "-V", **self.both()))

    def test_perftest_with_and_without_rdma_cm(self):
        for tool in ("ib_write_bw", "ib_send_lat"):
            for words in (("-R",), ()):
                with self.subTest(tool=tool, words=words):
                    self.measure(tool, *words, iterations=100, **self.both())

    def test_the_environment_alone(self):
        files = {"IWARP_TLS_CERT": "server.pem", "IWARP_TLS_KEY": "server.key", "IWARP_TLS_CA": "ours.pem"}
        env = {name: str(folder / file) for name, file in files.items()}
        self.rping("-C", 1, server_how={"env": env}, client_how={"options": self.own("client")})
        self.rping("-C", 1, server_how={"env": dict(env, IWARP_TLS="off")})


@needs_namespaces
class Pingpong(Tls):
    def play(self, *options):
        """Returns the TCP streams on the cable, except the program's own TCP connection."""
        port = free_port()
        call = ("ibv_rc_pingpong", "-p", port, "-g", 0, "-n", 20, "-c")
        options = [("--as", "roce", *own) for own in options]
        with two_hosts() as names, Capture(names[0], "veth0") as capture:
            how = [{"prefix": within(name), "options": own} for name, own in zip(names, options)]
            results = self.pair(call, (*call, HOSTS[0]), port, server_how=how[0], client_how=how[1])
            self.assert_silent(*results)
            return [octets for ports, octets in capture.streams().items() if port not in ports]

    def test_what_passes(self):
        plain = b"".join(self.play((), ()))
        self.assertIn(PINGPONG, plain)
        self.assertIn(MPA, plain)
        streams = self.play(self.own("server"), self.own("client"))
        # Either end may connect first. The other end refuses the connection if it is not ready. The stream of a refused
        # connection contains only a TLS alert, and can have the same two ports as a later connection.
        self.assertLessEqual({begins(octets)[0] for octets in streams}, {HANDSHAKE, ALERT})
        for hello in (CLIENT_HELLO, SERVER_HELLO):
            record = re.compile(re.escape(hello[0]) + rb"...%c" % hello[1], re.DOTALL)
            self.assertTrue(any(record.search(octets) for octets in streams), hello)
        for octets in streams:
            self.assertNotIn(PINGPONG, octets)
            self.assertNotIn(MPA, octets)


class Refused(Tls):
    CALL = ("rping", "-a", "127.0.0.1", "-V", "-C", 1)

    @contextlib.contextmanager
    def server(self, *options):
        self.port = free_port()
        with Program(*self.CALL, "-s", "-p", self.port, options=options) as server:
            yield server.listens(self.port)

    def assert_refused(self, options, pattern):
        """Checks that the client fails and that exactly one message says why."""
        # Uses ucmatose and not rping, whose threads both call exit(), which a sanitizer reports as an error.
        result = self.run_program("ucmatose", "-s", "127.0.0.1", "-p", self.port, "-c", 1, "-C", 1,
                                  options=options, statuses=range(1, 256))
        lines = [line for line in result.err.splitlines() if line.startswith("iwarp")]
        self.assertEqual(len(lines), 1, str(result))
        self.assertRegex(lines[0], rf"^iwarp: .*127\.0\.0\.1:{self.port}.*: {pattern}$", str(result))
        self.assertIn("RDMA_CM_EVENT_CONNECT_ERROR", result.out + result.err)

    def test_who_does_not_prove_who_it_is(self):
        with self.server(*self.own("server")) as server:
            self.assert_refused((), r"the peer uses TLS and this end does not "
                                    r"\(use TLS at both ends or at neither\)")
            self.assert_refused(("--tls-ca", OURS.file),
                                "the peer refused the TLS handshake: certificate required")
            self.assert_refused(OTHERS.own("stranger"), "this end refused the peer's certificate: .*")
            self.assert_refused((*OTHERS.own("stranger")[:4], "--tls-ca", OURS.file),
                                "the peer refused the TLS handshake: unknown ca")
            self.assert_refused((*self.own("client"), "--tls-peer", "elsewhere"),
                                "this end refused the peer's certificate: hostname mismatch")
            # The refused clients must not have disturbed the server.
            self.check(self.run_program(*self.CALL, "-c", "-p", self.port, options=self.own("client")))
            said = self.check(server.wait()).err
        for why in ("this end uses TLS and the peer does not \\(use TLS at both ends or at neither\\)",
                    "TLS handshake: peer did not return a certificate",
                    "the peer refused the TLS handshake: unknown ca"):
            self.assertRegex(said, rf"(?m)^iwarp: 127\.0\.0\.1:\d+ is refused: {why}$")

    def test_a_server_without_it(self):
        with self.server() as server:
            self.assert_refused(self.own("client"), r"the peer closed or reset TCP during the TLS handshake "
                                                    r"\(check that the peer uses TLS\)")
            self.check(self.run_program(*self.CALL, "-c", "-p", self.port))
            said = self.check(server.wait()).err
        # The server reports this client only once, although the client retries for a while.
        self.assertEqual(said.count("is refused: the peer uses TLS and this end does not ("), 1, said)

    def test_queue_pairs_without_rdma_cm(self):
        """The queue pairs do not find each other, and each end says why. Either end may connect first: then the other
        one has refused its peer when it tries to connect, and its peer may be gone."""
        port = free_port()
        call = ("ibv_rc_pingpong", "-p", port, "-n", 1)
        one_side = r"the peer uses TLS and this end does not \(use TLS at both ends or at neither\)"
        unknown = "(this end refused the peer's certificate|the peer refused the TLS handshake: unknown ca)"
        for client, why in ((), one_side), (OTHERS.own("stranger"), unknown):
            with self.subTest(client=client), Program(*call, options=self.own("server")) as server:
                server.listens(port)
                result = self.run_program(*call, "127.0.0.1", options=client, statuses=(1,))
                self.assertRegex(result.err, rf"(?m)^iwarp: .* (is refused|cannot connect to its peer): .*{why}")
                server.says(r"(?m)^iwarp: .* (is refused|cannot connect to its peer): ")


class NotInTheClear(Tls):
    def test_datagrams(self):
        options = ("--as", "roce", *self.own("server"))
        result = self.run_program("ibv_ud_pingpong", "-g", 0, "-p", free_port(), options=options, statuses=(1,))
        self.assertIn("Couldn't create QP", result.err)
        self.assertIn("iwarp: a queue pair of type UD is not supported: TLS is on, but "
                      "protects only connections (run without --tls to use datagrams; "
                      "see iwarp explain-error ibv_create_qp EOPNOTSUPP)\n", result.err)
        result = self.run_program("udaddy", "-b", "127.0.0.1", options=options, statuses=range(1, 256))
        self.assertIn("iwarp: rdma_create_id() for datagrams is not supported: TLS is on",
                      result.err)

    def assert_not_opened(self, why, *options, **env):
        for call in (("ibv_devinfo",), ("rping", "-s", "-a", "127.0.0.1", "-p", free_port())):
            with self.subTest(call=call):
                result = self.run_program(*call, options=options, env=env, statuses=range(1, 256))
                self.assertRegex(result.err, rf"(?m)^iwarp: cannot set up TLS: {why}$")
                self.assertEqual(result.err.count("iwarp: "), 1, str(result))

    def test_a_device_that_is_not_opened(self):
        server = self.own("server")
        self.assert_not_opened("/none: No such file or directory", "--tls-ca", "/none")
        self.assert_not_opened(".*/client.key: key values mismatch", *server[:3],
                               folder / "client.key")
        self.assert_not_opened(r"a TLS pre-shared key cannot be combined with certificates or peer names "
                               r"\(set --tls-psk alone, or leave it out\)", *server,
                               "--tls-psk", folder / "keys")
        self.assert_not_opened(r"TLS requires a certificate together with its private key "
                               r"\(set --tls-cert and --tls-key\)", *server[:2])
        self.assert_not_opened("IWARP_TLS=perhaps is not on or off", IWARP_TLS="perhaps")

    def test_who_listens_needs_a_certificate(self):
        result = self.run_program("rping", "-s", "-a", "127.0.0.1", "-p", free_port(),
                                  options=("--tls",), statuses=range(1, 256))
        self.assertRegex(result.err, r"(?m)^iwarp: cannot set up TLS: a TLS server "
                                     r"requires a certificate with its private key, or a pre-shared key "
                                     r"\(set --tls-cert and --tls-key, or --tls-psk\)$")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        skip_all("openssl(1) is not installed")
    with scratch:
        OURS, OTHERS = make_credentials()
        main("rping", "udaddy", "ibv_devinfo", "ibv_rc_pingpong", "ibv_ud_pingpong", "ib_write_bw", "ib_send_lat")
