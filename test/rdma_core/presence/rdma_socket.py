# SPDX-License-Identifier: Apache-2.0
"""Tests the sockets of NETLINK_RDMA as programs use them: addresses, blocking, small buffers, and descriptors that are
closed and used again. Runs under `iwarp run`."""
import errno
import os
import pathlib
import select
import socket
import struct
import sys
import tempfile
import unittest

RDMA, NLDEV = 20, 5 << 10
DEVICES = NLDEV | 1
REQUEST, ACK, DUMP = 1, 4, 0x300
NOOP, ERROR, DONE, FIRST_TYPE = 1, 2, 3, 16
SIZE, SEQUENCE = 16, 7


def message(kind, flags):
    return struct.pack("=IHHII", SIZE, kind, REQUEST | flags, SEQUENCE, 0)


def opened(flags=0, protocol=RDMA):
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | flags, protocol)


class RdmaSocket(unittest.TestCase):
    def received(self, one):
        """Returns the type of the answer, its sequence number, the address in it, and the first value of its payload."""
        answer, _, _, sender = one.recvmsg(8192)
        self.assertEqual(sender, (0, 0))
        _, kind, _, sequence, address, value = struct.unpack_from("=IHHIIi", answer)
        return kind, sequence, address, value

    def assert_nothing(self, one, flags=0):
        with self.assertRaises(BlockingIOError):
            one.recv(8192, flags)

    def test_an_rdma_socket_answers_as_the_kernel_does(self):
        with opened() as one:
            one.bind((0, 0))
            self.assertEqual(one.sendto(message(DEVICES, DUMP), (0, 0)), SIZE)
            self.assertEqual(select.select([one], [], [], 0)[0], [one])
            self.assertEqual(self.received(one)[:3], (DEVICES, SEQUENCE, one.getsockname()[0]))
            self.assertEqual(self.received(one)[0], DONE)
            self.assert_nothing(one, socket.MSG_DONTWAIT)

    def test_every_function_that_sends_and_receives_works_without_bind(self):
        with opened(socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as one:
            self.assert_nothing(one)
            bad = message(NLDEV | 1000, 0)
            self.assertEqual(one.send(bad), len(bad))
            self.assertNotEqual(one.getsockname()[0], 0)
            answer, sender = one.recvfrom(256, socket.MSG_PEEK)
            self.assertEqual((len(answer), sender), (36, (0, 0)))
            self.assertEqual(one.recv(256), answer)
            self.assertEqual(one.sendmsg([bad[:8], bad[8:]]), len(bad))
            self.assertEqual(self.received(one)[::3], (ERROR, -errno.EINVAL))
            with self.assertRaises(OSError) as raised:
                one.send(bytes(1 << 20))
            self.assertEqual(raised.exception.errno, errno.EMSGSIZE)

    def test_a_list_that_exceeds_the_receive_buffer_arrives_whole(self):
        count = 32
        with tempfile.TemporaryDirectory() as folder, opened(socket.SOCK_NONBLOCK) as one:
            session = pathlib.Path(folder, "session")
            session.touch(0o600)
            session.write_text("".join(f"many{i} rxe lo\n" for i in range(count)))
            os.environ["IWARP_SESSION"] = str(session)
            self.addCleanup(os.environ.pop, "IWARP_SESSION")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # The kernel rounds this up.
            for _ in range(3):
                one.send(message(DEVICES, DUMP))
                sizes = []
                while (answer := one.recv(8192))[4:6] != DONE.to_bytes(2, sys.byteorder):
                    sizes.append(len(answer))
                self.assertGreater(len(sizes), 1)
                self.assertGreater(sum(sizes), count * 100)
            self.assert_nothing(one)

    def test_the_number_of_an_rdma_socket_can_be_used_again(self):
        with opened() as one:
            number = one.fileno()
        first, second = socket.socketpair()
        with first, second:
            self.assertIn(number, (first.fileno(), second.fileno()))
            for sender, receiver in ((first, second), (second, first)):
                self.assertEqual(sender.send(b"x"), 1)
                self.assertEqual(receiver.recv(1), b"x")

    def test_rdma_sockets_are_answered_in_the_child_of_a_fork_and_many_can_be_open(self):
        asks = message(FIRST_TYPE, ACK)
        with opened() as one:
            child = os.fork()
            if child == 0:
                os._exit(one.send(asks) != len(asks))
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(self.received(one)[0], ERROR)
        for _ in range(200):
            with opened(), opened() as two:
                two.send(asks)
                self.assertEqual(self.received(two)[0], ERROR)

    def test_other_netlink_sockets_still_reach_the_kernel(self):
        with opened(protocol=socket.NETLINK_ROUTE) as one:
            one.send(message(NOOP, ACK))
            self.assertEqual(len(one.recv(256)), 36)


if __name__ == "__main__":
    unittest.main(verbosity=2)
