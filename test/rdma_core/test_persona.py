# SPDX-License-Identifier: Apache-2.0
"""Tests that programs work with `iwarp run --as roce`, with rdma_cm and without it."""
import re

from hosts import apart, joined, namespaces, needs_namespaces, within
from perftest import TOOLS, PerftestCase
from support import Case, Program, free_port, main
from tried import tried

ROCE = ("--as", "roce")


@tried("perftest, rping, ibv_rc_pingpong", "perftest rdmacm-utils ibverbs-utils", "the eight "
       "tools with rdma_cm and without it, by GID; rping between an end shown as iWARP and one "
       "shown as RoCE", personas=("roce",))
class Programs(PerftestCase):
    def test_rping(self):
        self.rping("-V", "-C", 10, options=ROCE)
        self.rping("-V", "-C", 10, "-q", options=ROCE)
        port = free_port()
        where = ("-a", "127.0.0.1", "-p", port, "-V", "-C", 10)
        with Program("rping", "-s", "-P", *where, options=ROCE) as server:
            server.listens(port)
            for _ in range(3):
                self.run_program("rping", "-c", *where, options=ROCE)

    def test_between_personas(self):
        """Both personas send the same frames, so each must work with the other."""
        for server, client in (("roce", "iwarp"), ("iwarp", "roce")):
            with self.subTest(server=server):
                self.rping("-V", "-C", 10, server_how={"options": ("--as", server)},
                           client_how={"options": ("--as", client)})

    def test_perftest_over_rdma_cm(self):
        self.each("", "-R", options=ROCE)

    def test_perftest_without_rdma_cm(self):
        self.each("", options=ROCE)

    def test_pingpong_by_gid(self):
        for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
            with self.subTest(program=program):
                self.with_client(program, "-c", "-g", 0, options=ROCE)


@needs_namespaces
class TwoHosts(PerftestCase):
    """Tests queue pairs that programs connect by GID and queue pair number, with no option but the persona."""

    @classmethod
    def setUpClass(cls):
        addresses = [(f"10.99.7.{n}/24", f"fd99:7::{n}/64") for n in (1, 2)]
        cls.names = cls.enterClassContext(joined(addresses, link_local=True))

    def test_pingpong_by_each_gid(self):
        """Connects by each GID. The first GID is a link-local address, which cannot be routed unless its interface
        is known."""
        gids = self.gids(self.names[0])
        self.assertEqual(len(gids), 3, gids)
        self.assertRegex(gids[0][1], "^fe80::")
        for index, gid in gids:
            for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
                for client in reversed(self.names):  # on the other host, then on the server's host
                    with self.subTest(gid=gid, program=program, client=client):
                        self.with_client(program, "-c", "-g", index, host="10.99.7.1", options=ROCE,
                                         **apart((self.names[0], client)))

    def gids(self, host, *options):
        """Returns the index and the address of each GID, as text."""
        listing = self.run_program("ibv_devinfo", "-v", options=(*ROCE, *options), prefix=within(host))
        return re.findall(r"GID\[ *(\d+)\]:\s+(\S+),", listing.out)

    def test_loopback_has_gids_where_there_are_no_others_or_it_is_asked_for(self):
        loopback = ["::ffff:127.0.0.1", "::1"]
        with namespaces(1) as (alone,):
            self.assertEqual([gid for _, gid in self.gids(alone)], loopback)
        host = self.names[0]
        without = self.gids(host)
        self.assertEqual(self.gids(host, "--loopback", "on"), [*without, ("3", loopback[0]), ("4", loopback[1])])
        self.with_client("ibv_rc_pingpong", "-c", "-g", 3, options=(*ROCE, "--loopback", "on"), prefix=within(host))

    def test_ids_of_loopback_lead_there_although_it_has_no_gid(self):
        for address in ("127.0.0.1", "::1"):
            for words in ((), ("-q",)):
                self.rping("-C", 3, "-V", *words, address=address, options=ROCE, prefix=within(self.names[0]))

    def test_perftest(self):
        for tool in TOOLS:
            with self.subTest(tool=tool):
                self.measure(tool, "-x", 1, host="10.99.7.1", options=ROCE, **apart(self.names))

    def test_it_can_be_kept_to_this_host(self):
        server, client = self.with_client("ibv_rc_pingpong", "-g", 1, host="10.99.7.1", statuses=range(256),
                                          options=(*ROCE, "--oob", "loopback"), **apart(self.names))
        self.assertRegex(client.err + server.err, "(?m)^iwarp: .*IWARP_OOB=on")
        self.assertNotEqual((server.status, client.status), (0, 0))


main("ibv_devinfo", "rping", "ibv_rc_pingpong", "ibv_srq_pingpong", *TOOLS)
