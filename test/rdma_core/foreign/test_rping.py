# SPDX-License-Identifier: Apache-2.0
"""Runs rping in all its modes with validation of the data (-V): both address families, sizes up to the maximum,
queue pairs that rping brings up itself, a persistent server with concurrent clients, and the ways to set up a
connection."""
import contextlib
import socket
import struct
import unittest

from support import LONG, TIMEOUT, SANITIZER, Case, Program, free_port, main
from tried import tried

SIZES = (23, 24, 63, 64, 65, 1000, 1448, 4096, 16384, 65000, 65535)  # the limits of rping, and sizes between them


@tried("rping", "rdmacm-utils", "pings with data validated, many clients, queue pairs that rping creates itself")
class Rping(Case):
    def ping(self, *words, **how):
        first, second = self.rping("-V", *words, **how)
        self.assert_silent(first, second)
        self.assertNotIn("mismatch", first.out + first.err + second.out + second.err)
        return first, second

    def test_the_data_goes_there_and_back(self):
        server, client = self.ping("-v", "-C", 10)
        for result, word in ((server, "server ping data"), (client, "ping data")):
            self.assertEqual(result.out.count("rdma-ping-"), 10, str(result))
            self.assertIn(f"{word}: rdma-ping-9: JKLMNOPQRSTUVWXYZ[\\]^_`abc", result.out)

    def test_addresses(self):
        self.ping("-C", 3, client=("-I", "127.0.0.9"))
        for address, target in (("::1", "::1"), ("0.0.0.0", "127.0.0.1"), ("::0", "::1"), ("::0", "127.0.0.1")):
            with self.subTest(address=address, target=target):
                self.ping("-C", 3, address=address, target=target)

    def test_sizes(self):
        for size in SIZES:
            with self.subTest(size=size):
                self.ping("-C", 5, "-S", size)

    def test_a_program_that_exits_at_a_failed_completion_says_why(self):
        """The server reads more than fits into its memory. It exits because of its own failed completion, before
        the disconnect event arrives."""
        for persona in ("iwarp", "roce"):
            for run in range(4):
                with self.subTest(persona=persona, run=run):
                    port = free_port()
                    how = {"options": ("--as", persona)}
                    server = Program("rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", 1, **how)
                    with server:
                        server.listens(port)
                        with Program("rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", 1, "-S", 512,
                                     **how) as client:
                            client.wait()
                        result = server.wait()
                    self.assertRegex(result.err, r"(?m)^iwarp: connection with \S+ ended: .*RDMA Read wr_id 0x0 ")

    def test_many_pings(self):
        self.ping("-C", 20000 if LONG else 2000, "-S", 4096, timeout=300 if LONG else TIMEOUT)

    def test_queue_pairs_that_the_program_makes_and_modifies_itself(self):
        self.ping("-C", 10, "-q")
        self.ping("-C", 10, server=("-q",))
        self.ping("-C", 10, client=("-q",))

    def test_a_persistent_server_with_several_clients_at_a_time(self):
        for words in ((), ("-q",)):
            port = free_port()
            where = ("-a", "127.0.0.1", "-p", port, "-V", *words)
            # The server's output is line-buffered, so that the next client can wait until the server has started a
            # thread for the previous client. rping confuses the requests of two clients that arrive before that.
            serve = ("stdbuf", "-oL", "rping", "-s", "-P", "-d", *where)
            with Program(*serve) as server, contextlib.ExitStack() as stack:
                server.listens(port)
                clients = []
                for n in range(1, 7):
                    clients.append(stack.enter_context(Program("rping", "-c", "-C", 300, *where)))
                    server.says(rf"(?ms)(^ESTABLISHED$.*){{{n}}}")
                for client in clients:
                    self.assert_silent(self.check(client.wait()))
                self.assertIsNone(server.result().status, str(server.result()))

    def test_a_persistent_server_outlives_peers_that_end_before_their_rtr(self):
        request = b"MPA ID Req Frame\x50\x02\x00\x04\x80\x01\x80\x01"  # with CRC, and a Write as RTR
        broken_rtr = bytes.fromhex("000e c140 00000001 0000000000000000 00000000")
        port = free_port()
        where = ("-a", "127.0.0.1", "-p", port, "-V")
        with Program("stdbuf", "-oL", "rping", "-s", "-P", "-d", *where) as server:
            server.listens(port)
            endings = (lambda peer: peer.shutdown(socket.SHUT_WR),
                       lambda peer: peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
                       lambda peer: peer.sendall(broken_rtr))
            for n, end in enumerate(endings, 1):
                with socket.create_connection(("127.0.0.1", port), TIMEOUT) as peer:
                    peer.sendall(request)
                    self.assertTrue(peer.recv(1))
                    end(peer)
                server.says(rf"(?ms)(^ESTABLISHED$.*){{{n}}}")
            self.assert_silent(self.run_program("rping", "-c", "-C", 3, *where))
            self.assertIsNone(server.result().status, str(server.result()))

    def test_how_connections_are_set_up(self):
        for options in (("--crc", "off"), ("--markers",), ("--mpa-rev", "1"), ("--rtr", "none"),
                        ("--rtr", "read"), ("--rtr", "send"), ("--fpdu", "max"),
                        ("--fpdu", "128"), ("--placement", "direct"), ("--extensions", "off")):
            with self.subTest(options=options):
                self.ping("-C", 5, "-S", 10000, options=options)

    def test_the_sides_may_differ(self):
        self.ping("-C", 5, client_how={"options": ("--mpa-rev", "1", "--markers")})
        self.ping("-C", 5, server_how={"options": ("--mpa-rev", "1", "--crc", "off")})

    def test_a_trace_file_of_each_process(self):
        name = self.scratch / "%p.pcap"
        self.ping("-C", 2, options=("--trace", name))
        files = list(self.scratch.iterdir())
        self.assertEqual(len(files), 2)
        for file in files:
            self.assertRegex(file.name, r"^\d+\.pcap$")
            self.assertIn(b"MPA ID Req Frame", file.read_bytes())

    @unittest.skipIf(SANITIZER, "rping's two threads may both call exit(), and free the same memory")
    def test_nobody_listens(self):
        result = self.run_program("rping", "-c", "-a", "127.0.0.1", "-p", free_port(), "-C", 1,
                                  statuses=range(1, 256))
        self.assertRegex(result.out + result.err, r"RDMA_CM_EVENT_REJECTED|UNREACHABLE")


main("rping")
