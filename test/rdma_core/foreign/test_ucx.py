# SPDX-License-Identifier: Apache-2.0
"""Tests UCX's transports first without UCP: rc_verbs and ud_verbs must be listed for a RoCE device, and every test
of uct that a transport supports must run over it. Then tests UCP, which finds the other end with ud_verbs and sends
with rc_verbs. UCX does not list iWARP devices at all. UCX's rc_verbs offers no swap on a device that has only the
atomics of the verbs interface."""
import re
import shutil
import subprocess
import unittest

from hosts import HOSTS, HOSTS6, apart, joined, needs_namespaces, two_hosts, within
from support import LONG, PROGRAMS, Case, Program, free_port, main
from tried import tried
import ucx

# Each row has a test, a data layout and a size in bytes. A Get with zcopy has at least 65 bytes, and a short Put has
# at most 64.
RC_RUNS = (
    ("am_lat", "short", 8), ("am_lat", "bcopy", 4096), ("am_lat", "zcopy", 4096),
    ("am_bw", "short", 32), ("am_bw", "bcopy", 8000), ("am_bw", "zcopy", 8000),
    ("put_lat", "short", 8), ("put_lat", "bcopy", 4096), ("put_lat", "zcopy", 65536),
    ("put_bw", "short", 64), ("put_bw", "bcopy", 8000), ("put_bw", "zcopy", 1 << 20),
    ("get", "bcopy", 8), ("get", "zcopy", 65), ("get", "zcopy", 1 << 20),
    ("add_lat", "short", 8), ("add_mr", "short", 8), ("fadd", "short", 8), ("cswap", "short", 8),
)
# Over datagrams, UCX has only active messages. On an Ethernet, each of them must be shorter than 1024 bytes.
UD_RUNS = (
    ("am_lat", "short", 8), ("am_lat", "shortiov", 8), ("am_lat", "bcopy", 900),
    ("am_lat", "zcopy", 900),
    ("am_bw", "short", 32), ("am_bw", "bcopy", 900), ("am_bw", "zcopy", 900),
)
# Tests of ucx_perftest, each with a size: small messages, messages in several pieces, and rendezvous.
UCP_RUNS = (
    ("tag_lat", 8), ("tag_bw", 4096), ("tag_bw", 1 << 17), ("tag_sync_lat", 8), ("stream_bw", 4096),
    ("ucp_am_bw", 1 << 17), ("ucp_put_bw", 1 << 16), ("ucp_get", 1 << 16), ("ucp_fadd", 8),
    ("ucp_cswap", 8))
ITERATIONS = 10000 if LONG else 100
NETWORK = ucx.environment()
READ_ONLY = PROGRAMS / "ucx_read_only"
# Starts a process that shares no memory with other processes. UCX detects this by the namespaces.
APART = ("unshare", "--ipc", "--pid", "--fork", "--kill-child")


class UcxCase(Case):
    @classmethod
    def setUpClass(cls):
        """If UCX was built with MPI, ucx_perftest runs as an MPI program unless an option says otherwise."""
        usage = subprocess.run(["ucx_perftest", "-h"], capture_output=True, text=True, timeout=60)
        cls.alone = ("-P", 0) if "-P <0|1>" in usage.stdout + usage.stderr else ()

    def measure(self, test, size, *words, host="127.0.0.1", **how):
        _, client = self.with_client("ucx_perftest", "-t", test, "-s", size, "-n", ITERATIONS, "-w", 10, "-f", *words,
                                     *self.alone, host=host, **how)
        self.assertNotRegex(client.out + client.err, "ERROR|WARN", str(client))
        # A run of more than a second has a row for each second. A second without an iteration has "inf".
        counts = re.findall(r"(?m)^(?:Final:)?\s*(\d+)(?:\s+(?:[\d.]+|inf))+\s*$", client.out)
        self.assertTrue(counts, str(client))
        self.assertEqual(int(counts[-1]), ITERATIONS, str(client))
        return client


@tried("UCX", "ucx-utils", "ucx_info lists rc_verbs; ucx_perftest's uct tests of am, put, get and "
       "atomics over rc_verbs", personas=("roce",))
class Ucx(UcxCase):
    def test_rc_verbs_is_listed(self):
        said = self.run_program("ucx_info", "-d").out
        self.assertRegex(said, r"(?m)^# +Transport: rc_verbs\n# +Device: iwarp0:1$")
        for operation in ("atomic_add", "atomic_fadd", "atomic_cswap"):
            self.assertRegex(said, rf"(?m)^# +{operation}: 64 bit$")

    def test_each_of_uct(self):
        for test, layout, size in RC_RUNS:
            with self.subTest(test=test, layout=layout, size=size):
                self.measure(test, size, "-d", "iwarp0:1", "-x", "rc_verbs", "-D", layout)


@tried("UCX, UD", "ucx-utils", "ucx_info lists ud_verbs; ucx_perftest's uct tests of am over "
       "ud_verbs, IPv4 and IPv6", personas=("roce",))
class UcxDatagrams(UcxCase):
    WORDS = ("-d", "iwarp0:1", "-x", "ud_verbs")

    def test_ud_verbs_is_listed(self):
        said = self.run_program("ucx_info", "-d").out
        self.assertRegex(said, r"(?m)^# +Transport: ud_verbs\n# +Device: iwarp0:1$")

    def test_each_of_uct(self):
        for test, layout, size in UD_RUNS:
            with self.subTest(test=test, layout=layout, size=size):
                self.measure(test, size, *self.WORDS, "-D", layout)

    @needs_namespaces
    def test_over_ipv6(self):
        with joined([(f"{host}/64",) for host in HOSTS6]) as names:
            self.measure("am_bw", 900, *self.WORDS, "-D", "bcopy", "-6", host=HOSTS6[0], **apart(names))


@tried("UCX, UCP", "ucx-utils", "ucx_perftest's tests of tag, stream, am, put, get and atomics on "
       "two hosts: with the transports that UCX chooses (`UCX_TLS` unset), with all transports "
       "except shared memory, with `UCX_TLS=ud_verbs`, with `UCX_TLS=rc_v`; the tests of tag also "
       "on one host without shared memory; a message from read-only memory; from UCX 1.16 on with `UCX_FENCE_MODE=weak`",
       personas=("roce",))
class Ucp(UcxCase):
    def play(self, runs, env=NETWORK, **how):
        for test, size in runs:
            with self.subTest(test=test, size=size):
                self.measure(test, size, env=env, **how)

    def on_two_hosts(self, transports, chosen, *words):
        """`chosen` is the transport that UCX reports for tagged messages."""
        env = ucx.environment(transports)
        with two_hosts() as names:
            how = {"host": HOSTS[0], **apart(names, *words)}
            said = self.measure("tag_lat", 8, env={**env, "UCX_LOG_LEVEL": "info"}, **how).out
            self.assertRegex(said, rf"cfg.*tag\({chosen}/iwarp0:1")
            self.play(UCP_RUNS, env, **how)

    def test_on_one_host(self):
        self.play(UCP_RUNS[:3])

    @needs_namespaces
    def test_without_shared_memory(self):
        self.on_two_hosts("^sm", "rc_verbs")

    @needs_namespaces
    def test_what_it_chooses_of_all(self):
        self.on_two_hosts(None, "rc_verbs", *APART)

    @needs_namespaces
    def test_datagrams_alone(self):
        self.on_two_hosts("ud_verbs", "ud_verbs")

    @unittest.skipUnless(READ_ONLY.exists(), f"{READ_ONLY} was not built, which needs libucx-dev")
    def test_a_message_from_read_only_memory(self):
        """With UCX_RNDV_SCHEME=put_zcopy, UCX 1.13 aborts, because it cannot register the memory."""
        self.assertEqual(self.run_program(READ_ONLY, env=NETWORK).out, "right\n")

    @needs_namespaces
    def test_connections_that_datagrams_make(self):
        """rc_v is rc_verbs together with ud_verbs, which finds the other end. With rc_verbs alone, UCX reports on
        any device that there is no auxiliary transport."""
        self.on_two_hosts("rc_v", "rc_verbs")

    @needs_namespaces
    @unittest.skipUnless(shutil.which("io_demo"), "not installed: io_demo")
    def test_client_server_mode(self):
        """UCX's rdmacm connects with the number of a UD queue pair, and sends through other queue pairs."""
        env = {**ucx.environment("rc_v,ud_v,self"), "UCX_SOCKADDR_TLS_PRIORITY": "rdmacm"}
        call = ("io_demo", "-p", free_port())
        with two_hosts() as names, Program(*call, env=env, prefix=within(names[0])) as server:
            server.listens(call[-1])
            client = self.run_program(*call, "-i", 100, "-q", HOSTS[0], env=env, prefix=within(names[1]))
        self.assertIn("Client exit with status 'OK'", client.out + client.err)


main("ucx_info", "ucx_perftest")
