# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp ping` with its own server: data, many clients, clients that misbehave, and orderly ends."""
import contextlib
import signal
import socket
import struct

from support import Case, TIMEOUT, Server, finish, main, processes, run, start


class Ping(Case):
    def test_the_text_comes_back(self):
        with Server("ping", "--server", "-v") as server:
            text = self.assert_ok(run("ping", server.address, "--count", 2, "--size", 26, "-v", "--verify"))
            self.assertIn("ping data: rdma-ping-0: ABCDEFGHIJKL\n", text)
            self.assertIn("ping data: rdma-ping-1: BCDEFGHIJKLM\n", text)
            self.assertRegex(text, r"2 pings of 26 octets: min .*, median .*, max .*\n$")
            status, log = server.stop()
            self.assertEqual(status, 0)
            self.assertIn("server ping data: rdma-ping-1: BCDEFGHIJKLM", log)

    def test_sizes_and_options(self):
        with Server("ping", "--server", "--markers") as server:
            for size in ("0", "1", "26", "65535", "1M"):
                for options in ([], ["--markers"], ["--crc", "off"], ["--mpa-rev", "1"],
                                ["--rtr", "read"], ["--fpdu", "128"]):
                    with self.subTest(size=size, options=options):
                        self.assert_ok(run("ping", server.address, "--count", 5, "--size", size,
                                           "--verify", "-q", *options))

    def test_every_kind_of_go_ahead(self):
        for kind in ("send", "send-se", "send-inv", "send-se-inv"):
            with self.subTest(kind=kind), Server("ping", "--server", "--go-ahead", kind) as server:
                for size in ("0", "1", "64K"):
                    self.assert_ok(run("ping", server.address, "--count", 20, "--size", size, "--verify", "-q"))
                self.assertEqual(server.stop(), (0, ""))

    def test_the_go_ahead_is_the_servers(self):
        self.assert_fails(run("ping", "127.0.0.1", "--go-ahead", "send-inv"), 2, "--server")

    def test_many_clients_at_once(self):
        with Server("ping", "--server") as server:
            # More pings than any queue is deep.
            self.assert_ok(run("ping", server.address, "--count", 2000, "--verify", "-q"))
            ping = ("ping", server.address, "--count", 200, "--verify", "-q")
            with processes([ping] * 8) as clients:
                for client in clients:
                    self.assertEqual(client.wait(TIMEOUT), 0, client.stderr.read())
            status, log = server.stop()
            self.assertEqual((status, log), (0, ""))

    def test_one_client_too_many_is_turned_away(self):
        with Server("ping", "--server", "--max-clients", 1) as server:
            endless = self.started("ping", server.address, "--count", 0)
            endless.stdout.readline()  # The server is serving this client when the line arrives.
            self.assert_fails(run("ping", server.address), 1,
                              "rejected the connection: busy: too many clients$")

    def test_each_end_notices_the_end_of_the_other(self):
        with Server("ping", "--server") as server:
            endless = [start("ping", server.address, "--count", 0) for _ in range(3)]
            for client in endless:
                client.stdout.readline()
            interrupted, killed, left = endless
            self.assertRegex(self.assert_ok(finish(interrupted, signal.SIGINT)), r"\d+ pings of 64 octets: ")
            finish(killed, signal.SIGKILL)
            self.assert_ok(run("ping", server.address, "--count", 3, "--verify"))
            server.kill()
            self.assert_fails(finish(left), 1, "^iwarp ping: ")

    def test_immediate_data_is_no_answer_to_a_read(self):
        """Sends FPDUs that this test makes, without CRC: an advertisement, and then Immediate Data instead of the
        response to a Read."""
        def fpdu(opcode, msn, payload):
            ulpdu = struct.pack(">BBIIII", 0x41, 0x40 | opcode, 0, 0, msn, 0) + payload
            return struct.pack(">H", len(ulpdu)) + ulpdu + bytes(-(len(ulpdu) + 2) % 4) + bytes(4)

        send, immediate = 3, 8
        said = b""
        with Server("ping", "--server", "--crc", "off") as server:
            with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as peer:
                peer.sendall(b"MPA ID Req Frame" + bytes((0, 1, 0, 8)) + b"RFC 7306")
                self.assertEqual(peer.recv(28, socket.MSG_WAITALL)[-8:], b"7306 too")
                peer.sendall(fpdu(send, 1, struct.pack(">QII", 0x1000, 0x200, 64)) + fpdu(immediate, 2, bytes(8)))
                with contextlib.suppress(ConnectionResetError):
                    while piece := peer.recv(4096):
                        said += piece
            self.assertIn("the peer sent an unexpected message", server.stop()[1])
        opcodes = []
        while said:
            length = int.from_bytes(said[:2], "big")
            opcodes.append(said[3] & 0x0F)
            said = said[2 + length + -(length + 2) % 4 + 4:]
        self.assertNotIn(send, opcodes)


main()
