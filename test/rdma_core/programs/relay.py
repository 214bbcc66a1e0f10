# SPDX-License-Identifier: Apache-2.0
"""Relays datagrams between two ends of datagrams.cpp. Loses, duplicates, delays and damages some of them, depending
on a seed.
usage: relay.py ADDRESS CONTROL_PORT PEER TOTAL SEED
PEER is the receiver's address. First the receiver sends its queue pair number to the relay, and then the sender
does. The last datagram passes unchanged, after all others. At the end the relay prints how many datagrams it has
lost, duplicated and damaged."""
import random
import socket
import sys

ADDRESS, PORT, PEER, TOTAL, SEED = sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:])
FAMILY = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
# Number of datagrams that are held back at a time. It is small enough that 512 datagrams never overtake another one.
AWAY = 20
TIMEOUT = 20


def control(listener):
    connection, _ = listener.accept()
    connection.settimeout(TIMEOUT)
    return connection.makefile("rw", buffering=1, newline="\n")


def tell(end, number):
    print(number, file=end, flush=True)


class Network:
    def __init__(self, udp, target):
        self.udp, self.target, self.chance = udp, target, random.Random(SEED)
        self.away = []
        self.lost = self.repeated = self.damaged = self.passed = 0

    def one_in(self, n):
        return self.chance.randrange(n) == 0

    def takes(self, datagram):
        if self.one_in(100):
            self.lost += 1
        else:
            self.away.append(datagram)
        if len(self.away) > AWAY:
            self.give()

    def give(self):
        """Sends one of the datagrams that are held back, chosen at random."""
        at = self.chance.randrange(len(self.away))
        self.away[at], self.away[-1] = self.away[-1], self.away[at]
        datagram = self.away.pop()
        if self.one_in(200):
            self.damaged += 1
            octet = self.chance.randrange(len(datagram))
            datagram = datagram[:octet] + bytes([datagram[octet] ^ 0x10]) + datagram[octet + 1:]
        else:
            self.passed += 1
        self.udp.sendto(datagram, self.target)
        if self.one_in(100):
            self.repeated += 1
            self.udp.sendto(datagram, self.target)

    def give_all(self, last):
        while self.away:
            self.give()
        self.passed += 1
        self.udp.sendto(last, self.target)


def main():
    with socket.create_server((ADDRESS, PORT), family=FAMILY) as listener:
        receiver = control(listener)
        number = int(receiver.readline())
        sender = control(listener)
        sender.readline()
        udp = socket.socket(FAMILY, socket.SOCK_DGRAM)
        udp.settimeout(TIMEOUT)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        port = number & 0xFFFF
        udp.bind((ADDRESS, port))
        tell(sender, number)
    network, came = Network(udp, (PEER, port)), 0
    while came != TOTAL + 1:
        behind = int(sender.readline())
        while came != behind:
            datagram = udp.recv(65536)
            came += 1
            if came == TOTAL + 1:
                network.give_all(datagram)
            else:
                network.takes(datagram)
        tell(receiver, network.passed)
        assert int(receiver.readline()) == network.passed
        tell(sender, behind)
    print(f"{network.passed} passed, {network.lost} lost, {network.damaged} damaged, "
          f"{network.repeated} repeated")


main()
