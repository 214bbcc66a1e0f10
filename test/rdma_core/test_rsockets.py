# SPDX-License-Identifier: Apache-2.0
"""Tests rsockets with rdma-core's programs for them, and with programs whose plain sockets librspreload.so turns
into rsockets. Compares the transferred data."""
import glob
import json
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

from hosts import HOSTS, HOSTS6, apart, needs_namespaces, two_hosts, within
from support import SANITIZER, Case, Program, free_port, has_udp, main
from tried import tried

PRELOAD = next(iter(sorted(glob.glob("/usr/lib/*/rsocket/librspreload.so.1"))), None)


# The files that the administrator writes, with the level and the number of the option that shows each default.
DEFAULTS = {"mem_default": (1_000_000, 1, 8), "wmem_default": (500_000, 1, 7), "sqsize_default": (100, 0x10000, 0),
            "rqsize_default": (101, 0x10000, 1), "inline_default": (32, 0x10000, 2), "iomap_size": (5, 0x10000, 3)}
SHOW_DEFAULTS = """
import ctypes, sys
lib = ctypes.CDLL("librdmacm.so.1")
rsocket = lib.rsocket(2, 1, 0)
for level, name in zip(*[map(int, sys.argv[1:])] * 2):
    value, size = ctypes.c_int(), ctypes.c_uint32(4)
    assert lib.rgetsockopt(rsocket, level, name, ctypes.byref(value), ctypes.byref(size)) == 0
    print(value.value)
"""


@unittest.skipIf(SANITIZER, "Python is not built with the sanitizer")
class Defaults(Case):
    # [RCM-392]
    def test_files_set_the_default_sizes(self):
        files = "".join(f"&& echo {value} > /etc/rdma/rsocket/{name} " for name, (value, *_) in DEFAULTS.items())
        alone = ("unshare", "-m", "sh", "-c",
                 f"mount -t tmpfs none /etc && mkdir -p /etc/rdma/rsocket {files} && exec \"$@\"", "sh")
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("only root can mount another /etc, and only if mounts are permitted")
        options = [word for _, *option in DEFAULTS.values() for word in option]
        shown = self.run_program("python3", "-c", SHOW_DEFAULTS, *options, prefix=alone)
        self.assertEqual(shown.out.split(), [str(value) for value, *_ in DEFAULTS.values()], shown)


class Streams(Case):
    """Runs rstream and riostream. With `-T v` they compare every byte with a pattern."""

    def transfer(self, program, *words, server=("-b", "127.0.0.1"), client=("-s", "127.0.0.1"), **how):
        port = free_port()
        results = self.pair((program, "-p", port, *words, *server),
                            (program, "-p", port, *words, *client), port, **how)
        for result in results:
            self.assertRegex(result.out, r"(?m)^custom .*s +[\d.]+ +[\d.]+$", str(result))
        return results


@tried("rstream", "rdmacm-utils", "streams in the default mode, with rpoll, and with blocking "
       "calls; data verified", personas=("iwarp", "roce"))
class Rstream(Streams):
    def stream(self, *words, **how):
        self.assert_silent(*self.transfer("rstream", "-T", "v", *words, **how))

    def test_sizes_and_ways_to_wait(self):
        for words in (("-S", 64, "-C", 10, "-I", 20), ("-S", 1 << 20, "-C", 2, "-I", 2),
                      ("-T", "a", "-S", 100000, "-C", 10, "-I", 2), ("-T", "b", "-S", 70000, "-C", 10, "-I", 2)):
            with self.subTest(words=words):
                self.stream(*words)

    def test_one_end_without_extensions(self):
        """One end runs with RFC 7306 disabled, so it cannot send a Write with immediate data."""
        words = ("-S", 4000, "-C", 10, "-I", 20)
        for ends in ("server_how", "client_how"):
            with self.subTest(ends=ends):
                self.stream(*words, **{ends: {"env": {"IWARP_EXTENSIONS": "off"}}})

    def test_options_and_addresses(self):
        self.stream("-B", 3000, "-i", 0, "-k", 5, "-S", 40000, "-C", 10, "-I", 1,
                    server=("-b", "::1"), client=("-s", "::1"))
        self.stream("-T", "r", "-i", 512, "-S", 500, "-C", 10, "-I", 1, client=("-s", "127.0.0.1", "-b", "127.0.0.9"))


@tried("riostream", "rdmacm-utils", "direct writes into the peer's memory, with data verified",
       personas=("iwarp", "roce"))
class Riostream(Streams):
    def test_sizes_and_ways_to_wait(self):
        for words in (("-S", 100, "-I", 20), ("-T", "a", "-S", 300000, "-C", 3, "-I", 2)):
            with self.subTest(words=words):
                self.assert_silent(*self.transfer("riostream", "-T", "v", *words))


class Files(Case):
    def copy(self, host, here=(), there=()):
        source, copy = self.scratch / "source", self.scratch / "copy"
        source.write_bytes(random.Random(1).randbytes(3_000_001))
        port = free_port()
        with Program("rcopy", "-p", port, prefix=there) as server:
            server.listens(port)
            client = self.run_program("rcopy", source, f"{host}:{copy}", "-p", port, prefix=here)
            self.assert_silent(client, server.result())
        self.assertEqual(source.read_bytes(), copy.read_bytes())


@tried("rcopy", "rdmacm-utils", "copies a file; the copy is compared", personas=("iwarp", "roce"))
class Rcopy(Files):
    def test_a_file(self):
        self.copy("127.0.0.1")

    def test_a_server_that_is_not_there(self):
        result = self.run_program("rcopy", __file__, f"127.0.0.1:{self.scratch}/x", "-p",
                                  free_port(), statuses=range(1, 256))
        self.assertIn("Connection refused", result.out + result.err)


@tried("rstream, riostream, rcopy", "rdmacm-utils", "streams and files between two hosts, IPv4 "
       "and IPv6; data verified", personas=("iwarp", "roce"))
@needs_namespaces
class OnTwoHosts(Streams, Files):
    RUNS = (("rstream", "-S", 64, "-C", 10, "-I", 20),
            ("rstream", "-T", "a", "-S", 1 << 20, "-C", 2, "-I", 2),
            ("rstream", "-T", "b", "-S", 70000, "-C", 10, "-I", 2),
            ("riostream", "-T", "a", "-S", 300000, "-C", 3, "-I", 2))

    def test_streams(self):
        with two_hosts(ipv6=True) as names:
            for host in (HOSTS[0], HOSTS6[0]):
                for program, *words in self.RUNS:
                    with self.subTest(program=program, host=host, words=words):
                        self.assert_silent(*self.transfer(
                            program, "-T", "v", *words, server=("-b", host), client=("-s", host), **apart(names)))

    def test_a_file(self):
        with two_hosts(ipv6=True) as (here, there):
            self.copy(HOSTS[1], within(here), within(there))


@tried("udpong", "rdmacm-utils", "datagrams of all sizes that udpong offers, on two hosts: echoed "
       "and in one direction; in the default mode, with rpoll, and with blocking calls; IPv4 and "
       "IPv6", personas=("roce",))
@needs_namespaces
class Udpong(Case):
    """The program checks the number in each echo, and prints how many one-way datagrams have arrived."""
    SIZES = (64, 128, 192, 256, 384, 512, 768, 1024, 1536)
    COUNT = 50

    def play(self, names, host, clients, *words):
        port = free_port()
        with Program("udpong", "-b", host, "-p", port, *words, prefix=within(names[0])) as server:
            server.wait_until(lambda: has_udp(server, port), "binding its port")
            for client in clients:
                with self.subTest(server=words, client=client):
                    result = self.run_program("udpong", "-s", host, "-p", port, "-C", self.COUNT,
                                              *client, *words, prefix=within(names[1]))
                    self.assert_silent(result)
                    # The server counts datagrams until it reads the client's last message. That message is sent
                    # through the queue pair. It may overtake datagrams of 1,536 bytes, which are too long for the
                    # queue pair and are sent over UDP.
                    self.assertRegex(result.out,
                                     r"(?m)^custom +[\d.]+k? +[\d.]+ .* +(?:[\d.]+|inf)$")
                    if "e" in client:
                        self.assertRegex(result.out, rf"(?m)^custom +[\d.]+k? +{2 * self.COUNT} ")
            server.signal(15)
            self.assert_silent(self.check(server.wait(), (-15,)))

    def test_sizes_and_ways_to_wait(self):
        # Datagrams that are sent one way and over UDP may fill the server's socket, which then drops an echo of the
        # next client; that client would wait forever. So a size is echoed first, and UDP is used last.
        sizes = [("-S", size, *echo) for size in self.SIZES for echo in (("-T", "e"), ())]
        with two_hosts(ipv6=True) as names:
            self.play(names, HOSTS[0], sizes)
            self.play(names, HOSTS[0], sizes[::5], "-T", "a")
            self.play(names, HOSTS[0], sizes[::5], "-T", "b")
            self.play(names, HOSTS6[0], sizes[::5])


# [RCM-391]
@tried("curl, openssl", "curl openssl librdmacm1", "HTTPS over rsockets, with librspreload.so",
       personas=("iwarp", "roce"))
@unittest.skipIf(PRELOAD is None, "librspreload.so is not installed (librdmacm1)")
@unittest.skipIf(SANITIZER, "the programs are not built with the sanitizer")
class Preloaded(Case):
    """`iwarp run` must put its libraries before the ones that LD_PRELOAD already names, and must keep the latter."""
    env = {"LD_PRELOAD": PRELOAD or ""}

    def setUp(self):
        super().setUp()
        # Does not use the prefix /tmp/iwarp-, because `iwarp run` treats a working directory with that name as its
        # own.
        folder = tempfile.TemporaryDirectory(prefix="rsockets-")
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)

    def test_a_file_by_https(self):
        key, certificate = self.scratch / "key", self.scratch / "certificate"
        self.run_program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                         "-days", 2, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", plain=True)
        (self.scratch / "file").write_bytes(random.Random(1).randbytes(2_000_003))
        port = free_port()
        how = {"env": self.env, "cwd": self.scratch, "options": ("--log", "connections")}
        with Program("openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", certificate,
                     "-key", key, "-WWW", **how) as server:
            server.listens(port)
            client = self.run_program("curl", "-sS", "--cacert", certificate, "-o", "got",
                                      f"https://127.0.0.1:{port}/file", **how)
            for result in (client, server.result()):
                self.assertRegex(result.err, r"(?m)^iwarp: connected with 127\.0\.0\.1:")
        self.assertEqual((self.scratch / "file").read_bytes(), (self.scratch / "got").read_bytes())


@tried("iperf3", "iperf3 librdmacm1", "a control connection and two streams in either direction, "
       "on two hosts, over rsockets with librspreload.so", personas=("iwarp", "roce"))
@unittest.skipIf(PRELOAD is None, "librspreload.so is not installed (librdmacm1)")
@unittest.skipIf(SANITIZER, "the programs are not built with the sanitizer")
@unittest.skipIf(shutil.which("iperf3") is None, "iperf3 is missing: apt-get install iperf3")
@needs_namespaces
class Iperf3(Case):
    OCTETS = 20_000_000

    def test_both_ways_on_two_hosts(self):
        with two_hosts(ipv6=True) as names:
            for host in (HOSTS[0], HOSTS6[0]):
                for words in ((), ("-R",)):
                    with self.subTest(host=host, words=words):
                        self.play(names, host, *words)

    def play(self, names, host, *words):
        port = free_port()
        how = {"env": {"LD_PRELOAD": PRELOAD}, "options": ("--log", "connections")}
        server = ("iperf3", "-s", "-1", "-p", port)
        client = ("iperf3", "-c", host, "-p", port, "-n", self.OCTETS, "-P", 2, "-J", *words)
        served, asked = self.pair(server, client, port, **how, **apart(names))
        told = json.loads(asked.out)["end"]
        for end in ("sum_sent", "sum_received"):
            self.assertGreaterEqual(told[end]["bytes"], self.OCTETS // 2, asked)
        # The control connection of the program is also an rsocket.
        self.assertEqual(len(re.findall("(?m)^iwarp: connected with ", asked.err)), 3, asked)


@unittest.skipIf(PRELOAD is None, "librspreload.so is not installed (librdmacm1)")
@unittest.skipIf(SANITIZER, "the programs are not built with the sanitizer")
class PreloadedFork(Streams):
    """A server that forks for each connection. librspreload first connects over TCP. After the fork, it connects an
    rsocket to the same port number. The parent's TCP socket still uses this number, so RDMA needs a port offset."""

    def test_rstream_with_plain_sockets(self):
        env = {"LD_PRELOAD": PRELOAD, "RDMAV_FORK_SAFE": "1"}
        server, client = self.transfer(
            "rstream", "-T", "v", "-T", "b", "-T", "f", "-S", 5000, "-C", 10, env=env,
            options=("--log", "connections", "--port-offset", 71))
        for result in (server, client):
            self.assertRegex(result.err, r"(?m)^iwarp: connected with 127\.0\.0\.1:", str(result))


main("rstream", "riostream", "rcopy", "udpong", "openssl", "curl")
