# SPDX-License-Identifier: Apache-2.0
"""A server that listens with TCP and with an rsocket on the same port number, and a client of both.

  one_port.py server PORT TIMES     TIMES times: sends what it receives on each of the two connections to the other one
  one_port.py client PORT TIMES"""
import ctypes
import random
import socket
import struct
import sys

HOST, SIZE = "127.0.0.1", 5000
rdma = ctypes.CDLL("librdmacm.so.1")


def address(port):
    return struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(HOST)), 16


class Rsocket:
    def __init__(self, fd=None):
        self.fd = rdma.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0) if fd is None else fd
        assert self.fd >= 0

    def connect(self, port):
        assert rdma.rconnect(self.fd, *address(port)) == 0
        return self

    def listen(self, port):
        assert rdma.rbind(self.fd, *address(port)) == 0 and rdma.rlisten(self.fd, 1) == 0
        return self

    def accept(self):
        return Rsocket(rdma.raccept(self.fd, None, None))

    def sendall(self, octets):
        assert rdma.rsend(self.fd, octets, len(octets), 0) == len(octets)

    def receive(self):
        buffer = ctypes.create_string_buffer(SIZE)
        assert rdma.rrecv(self.fd, buffer, SIZE, socket.MSG_WAITALL) == SIZE
        return buffer.raw

    def close(self):
        rdma.rshutdown(self.fd, socket.SHUT_RDWR)
        assert rdma.rclose(self.fd) == 0


def serve(port, times):
    by_rdma = Rsocket().listen(port)
    by_tcp = socket.create_server((HOST, port))
    for _ in range(times):
        tcp, rsocket = by_tcp.accept()[0], by_rdma.accept()
        rsocket.sendall(tcp.recv(SIZE, socket.MSG_WAITALL))
        tcp.sendall(rsocket.receive())
        rsocket.close()
        tcp.close()


def call(port, times):
    octets = random.Random(1)
    for _ in range(times):
        values = octets.randbytes(SIZE), octets.randbytes(SIZE)
        tcp, rsocket = socket.create_connection((HOST, port)), Rsocket().connect(port)
        tcp.sendall(values[0])
        assert rsocket.receive() == values[0]
        rsocket.sendall(values[1])
        assert tcp.recv(SIZE, socket.MSG_WAITALL) == values[1]
        rsocket.close()
        tcp.close()


(serve if sys.argv[1] == "server" else call)(*map(int, sys.argv[2:]))
