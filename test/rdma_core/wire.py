# SPDX-License-Identifier: Apache-2.0
"""Records all octets that pass between two programs, either with a TCP relay or on an interface of a network
namespace. The latter needs root."""
import collections
import contextlib
import socket
import struct
import threading

from hosts import enter

ALL, IPV4 = 0x0003, 0x0800
TCP = 6
ROOM = 64 << 20


class Relay:
    """Relays between a client that connects to `port` on loopback and a server that listens on another port."""

    def __init__(self, to):
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.there, self.back = bytearray(), bytearray()
        self._threads = [threading.Thread(target=self._run)]
        self._threads[0].start()

    def _run(self):
        with contextlib.suppress(OSError):  # The listener was shut down.
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self._to))
            self._threads.append(threading.Thread(target=copy, args=(server, client, self.back)))
            self._threads[1].start()
            copy(client, server, self.there)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._threads[-1].join()
        self._listener.close()


def copy(source, sink, record):
    with contextlib.suppress(OSError):
        while octets := source.recv(1 << 16):
            record += octets
            sink.sendall(octets)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Capture:
    """Captures the TCP streams over IPv4 on an interface of a network namespace."""

    def __init__(self, namespace, interface):
        opener = threading.Thread(target=self._open, args=(namespace, interface))
        opener.start()  # Only this thread enters the namespace. The socket that it opens stays there.
        opener.join()

    def _open(self, namespace, interface):
        enter(namespace)
        # A packet socket that is bound to one protocol would receive only incoming packets.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, 33, ROOM)  # SO_RCVBUFFORCE
        self._socket.bind((interface, ALL))
        self._socket.setblocking(False)

    def streams(self):
        """Returns {(source port, destination port): the octets sent so far in this direction, as they arrived}."""
        out = collections.defaultdict(bytearray)
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, (_, protocol, *_) = self._socket.recvfrom(1 << 17)
                if protocol != IPV4:
                    continue
                size = struct.unpack_from(">H", packet, 2)[0]
                head = packet[0] % 16 * 4
                if packet[9] != TCP:
                    continue
                data = head + packet[head + 12] // 16 * 4
                out[struct.unpack_from(">HH", packet, head)] += packet[data:size]
        return {ports: bytes(octets) for ports, octets in out.items() if octets}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
