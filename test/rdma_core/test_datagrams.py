# SPDX-License-Identifier: Apache-2.0
"""Tests programs that use UD queue pairs, on one host and in two network namespaces. On one host they use loopback,
whose MTU allows the largest datagrams. Another test sends many datagrams through a relay that behaves like a
lossy network (programs/datagrams.cpp, programs/relay.py)."""
import contextlib
import json
import os
import pathlib
import re
import sys
import unittest

from hosts import (HOSTS, HOSTS6, apart, bring_up, connect, joined, namespaces, needs_namespaces, own_address,
                   two_hosts, until_groups_pass, within)
from perftest import PerftestCase
from support import IWARP, LONG, PROGRAMS, TIMEOUT, SANITIZER, Case, Program, free_port, has_udp, main
from tried import tried

SIZE = 1024  # the MTU of an Ethernet, rounded down to an MTU of InfiniBand
DATAGRAMS, GROUPS = PROGRAMS / "datagrams", PROGRAMS / "groups"
RELAY = pathlib.Path(__file__).parent / "programs/relay.py"


def connected(program, port):
    """Returns whether a peer is connected to `port` of the program, or was connected earlier."""
    tables = (pathlib.Path(f"/proc/{program.process.pid}/net/{name}") for name in ("tcp", "tcp6"))
    lines = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return any(int(line[1].rpartition(":")[2], 16) == port and line[3] != "0A" for line in lines)


@tried("ibv_ud_pingpong", "ibverbs-utils", "ping-pong with validated buffers, with polling and "
       "with events", personas=("roce",))
class UdPingpong(Case):
    def play(self, host, *words, gid=0, **how):
        server, client = self.with_client("ibv_ud_pingpong", "-s", SIZE, "-n", 200, "-c", "-g", gid, *words, host=host,
                                          **how)
        self.assert_silent(server, client)
        for result in (server, client):
            self.assertRegex(result.out, r"(?m)^\d+ bytes in [\d.]+ seconds = [\d.]+ Mbit/sec$")
            self.assertNotIn("invalid data", result.out + result.err)

    def test_on_one_host(self):
        for words in ((), ("-e",), ("-r", 4)):
            with self.subTest(words=words):
                self.play(own_address(), *words)

    @needs_namespaces
    def test_on_two_hosts_over_ipv4_and_ipv6(self):
        with two_hosts(ipv6=True) as names:
            for gid in (0, 1):
                with self.subTest(gid=gid):
                    self.play(HOSTS[0], gid=gid, **apart(names))


class Traced(Case):
    """With `--trace`, both ends record every sent and received datagram, in a capture and in a log."""

    def setUp(self):
        super().setUp()
        os.environ["IWARP_AS"] = "roce"
        self.addCleanup(os.environ.pop, "IWARP_AS")

    def explained(self, trace):
        text = self.run_program(IWARP, "explain", trace, plain=True)
        model = self.run_program(IWARP, "explain", "--json", trace, plain=True)
        objects = [json.loads(line) for line in model.out.splitlines()]
        return text.out, [each for each in objects if each["type"] == "datagram"], objects[-1]

    def test_both_ends_tell_of_each_datagram(self):
        for suffix in ("pcap", "qlog"):
            with self.subTest(suffix):
                self.play(suffix)

    def play(self, suffix):
        traces = [self.scratch / f"{name}.{suffix}" for name in ("server", "client")]
        server, client = ({"options": ("--trace", trace)} for trace in traces)
        self.assert_silent(*self.with_client("ibv_ud_pingpong", "-s", 300, "-n", 50, "-c", "-g", 0, host=own_address(),
                                             server_how=server, client_how=client))
        seen = []
        for trace in traces:
            text, datagrams, summary = self.explained(trace)
            self.assertIn("100 datagrams over UDP\n", text)
            self.assertNotIn("left out", text)
            self.assertEqual(text.count(", 300 octets\n"), 100)
            self.assertEqual((len(datagrams), summary["datagrams"], summary["violations"]), (100, 100, 0))
            self.assertEqual({each["size"] for each in datagrams}, {300})
            seen.append({(each["source"], each["destination"], each["source_qpn"], each["msn"])
                         for each in datagrams})
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(len(seen[0]), 100)


@tried("perftest, UD", "perftest", "ib_send_lat and ib_send_bw with `-c UD`, also with lists of "
       "requests, and with rdma_cm", personas=("roce",))
class Perftest(PerftestCase):
    @needs_namespaces
    def test_each_tool(self):
        with two_hosts() as names:
            for tool, words in (("ib_send_lat", ()), ("ib_send_lat", ("-R",)),
                                ("ib_send_lat", ("-e",)), ("ib_send_lat", ("-I", 64)),
                                ("ib_send_bw", ("-r", 1000)),
                                ("ib_send_bw", ("-r", 1000, "-R")),
                                ("ib_send_bw", ("-r", 1000, "-e")),
                                ("ib_send_bw", ("-r", 500, "-q", 2)),
                                ("ib_send_bw", ("-r", 1000, "-l", 16))):
                with self.subTest(tool=tool, words=words):
                    # perftest 25.01 refuses an option that is given twice.
                    size = 64 if "-I" in words else SIZE
                    self.measure(tool, "-c", "UD", "-s", size, *words, host=HOSTS[0], iterations=160, **apart(names))


@tried("udaddy", "rdmacm-utils", "RDMA_PS_UDP and RDMA_PS_IPOIB, several connections", personas=("roce",))
class Udaddy(Case):
    PORT = 7174  # The program has no option to choose another port.

    def play(self, names, *words, host=HOSTS[0]):
        with Program("udaddy", *words, prefix=within(names[0])) as server:
            server.wait_until(lambda: has_udp(server, self.PORT), "binding its port")
            client = self.run_program("udaddy", *words, "-s", host, prefix=within(names[-1]))
            result = server.wait()
        for each in (result, client):
            self.assertIn("return status 0", each.out, str(each))
        self.assert_silent(result, client)

    @needs_namespaces
    def test_on_one_host_and_on_two(self):
        with two_hosts() as names:
            self.play(names[:1], "-S", 512)
            self.play(names[:1], "-S", 512, host="127.0.0.1")  # No address in 127.0.0.0/8 is a GID.
            self.play(names, "-S", SIZE)
            self.play(names, "-S", 512, "-c", 5, "-C", 50, "-P", "ipoib")


class OfGroups(Case):
    def play(self, names, group, hosts):
        call = ("mckey", "-m", group, "-C", 10)
        with Program(*call, "-b", hosts[0], prefix=within(names[0])) as receiver:
            receiver.wait_until(lambda: has_udp(receiver, 65535), "joining the group")
            sender = self.run_program(*call, "-b", hosts[1], "-s", prefix=within(names[1]))
            result = receiver.wait()
        for each in (result, sender):
            self.assertIn("return status 0", each.out, str(each))


@tried("mckey", "rdmacm-utils", "a multicast group on two hosts, IPv4", personas=("roce",))
@needs_namespaces
class Mckey(OfGroups):
    def test_on_two_hosts(self):
        with two_hosts() as names:
            self.play(names, "239.7.7.7", HOSTS)


@tried("mckey", "rdmacm-utils", "multicast groups on two hosts, IPv6, link-local and with a wider "
       "scope", personas=("roce",))
@needs_namespaces
class MckeyOverIpv6(OfGroups):
    def test_on_two_hosts(self):
        with joined([(f"{host}/64",) for host in HOSTS6]) as names:
            for group in ("ff15::7:7", "ff12::7:7%veth0"):
                with self.subTest(group=group):
                    self.play(names, group, HOSTS6)


@tried("multicast (in test/)", "libibverbs1", "a member whose port has two interfaces receives "
       "datagrams from a host on each; IPv4, IPv6, and a link-local group", personas=("roce",))
@needs_namespaces
@unittest.skipUnless(GROUPS.exists(), f"{GROUPS} was not built, which needs libibverbs-dev")
class OnTwoInterfaces(Case):
    """The host of the member is connected to two other hosts, each on a separate network."""
    NETWORKS = ("10.99.8", "10.99.9"), ("2001:db8:8:", "2001:db8:9:")

    @contextlib.contextmanager
    def hosts(self):
        with namespaces(3) as (middle, *others):
            for n, other in enumerate(others):
                connect((middle, f"veth{n}"), (other, "veth0"))
                for name, link, host in ((middle, f"veth{n}", 1), (other, "veth0", 2)):
                    bring_up(name, link, (f"{self.NETWORKS[0][n]}.{host}/24", f"{self.NETWORKS[1][n]}:{host}/64"))
            for end in [(middle, "veth0"), (middle, "veth1"), *((other, "veth0") for other in others)]:
                until_groups_pass(*end)
            yield middle, others

    def play(self, middle, others, group, addresses):
        with Program(GROUPS, "member", group, 2, prefix=within(middle)) as member:
            member.says(r"joined on \d+ interfaces")
            for other, address in zip(others, addresses):
                self.run_program(GROUPS, "send", group, address, prefix=within(other))
            result = self.check(member.wait())
        self.assert_silent(result)
        first, *came, last = result.out.splitlines()
        self.assertEqual((first, last), ("joined on 2 interfaces", "left, 0 interfaces remain"))
        self.assertEqual(sorted(came), [f"from {address}" for address in addresses])

    def test_groups_of_both_families(self):
        with self.hosts() as (middle, others):
            for group, networks, separator in (("239.8.8.8", self.NETWORKS[0], "."),
                                               ("ff15::8:8", self.NETWORKS[1], ":"),
                                               ("ff12::8:8", self.NETWORKS[1], ":")):
                with self.subTest(group=group):
                    self.play(middle, others, group, [f"{network}{separator}2" for network in networks])


@tried("UD datagrams (in test/)", "libibverbs1", "20,000 datagrams through a relay that loses, "
       "duplicates, reorders and damages some: each datagram that passes undamaged is delivered "
       "once; IPv4 and IPv6", personas=("roce",))
class ThroughRelay(Case):
    TOTAL = 1_000_000 if LONG else 2_000 if SANITIZER else 20_000

    def play(self, own, relay, peer, total, prefix):
        """The relay runs on the sender's host, so that its port cannot collide with the receiver's."""
        port, how = free_port(), {"timeout": TIMEOUT + total // 2000}
        with joined([(own + prefix, relay + prefix), (peer + prefix,)]) as (here, there):
            with Program(sys.executable, RELAY, relay, port, peer, total, 7, plain=True,
                         prefix=within(here)) as between:
                between.listens(port)
                with Program(DATAGRAMS, "receive", peer, relay, port, total, prefix=within(there),
                             options=("--port-range", "31000-31099")) as receiver:
                    receiver.wait_until(lambda: connected(between, port), "reaching the relay")
                    with Program(DATAGRAMS, "send", own, relay, port, total, prefix=within(here),
                                 options=("--port-range", "30000-30099")) as sender:
                        results = [each.wait(**how) for each in (receiver, between, sender)]
        for result in results:
            self.check(result)
        passed, lost, damaged, repeated = map(int, re.findall(r"\d+", results[1].out))
        self.assertEqual(passed + lost + damaged, total + 1)
        for count in (lost, damaged, repeated):
            self.assertGreater(count, total // 400)
        self.assertTrue(results[0].out.startswith(f"{passed} of {total + 1} delivered, not "))

    @needs_namespaces
    def test_over_ipv4_and_ipv6(self):
        for addresses, total, prefix in ((("10.99.8.1", "10.99.8.3", "10.99.8.2"), self.TOTAL, "/24"),
                                         (("2001:db8::1", "2001:db8::3", "2001:db8::2"), 2_000, "/64")):
            with self.subTest(prefix=prefix):
                self.play(*addresses, total, prefix)


main("ibv_ud_pingpong", "ib_send_lat", "ib_send_bw", "udaddy", "mckey")
