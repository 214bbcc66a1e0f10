# SPDX-License-Identifier: Apache-2.0
"""Tests queue pairs that two processes connect without rdma_cm, on one host and on two. They are created,
destroyed, and created again with the same numbers. Also tests a peer that gives a wrong queue pair number, PSN
or GID. The program is part of this project (programs/pairs.cpp) and linked to the system's libibverbs."""
import re

from hosts import HOSTS, apart, needs_namespaces, own_address, two_hosts
from support import LONG, PROGRAMS, TIMEOUT, SANITIZER, Case, free_port, main, skip_all

PAIRS = PROGRAMS / "pairs"
ROUNDS = 100_000 if LONG else 50 if SANITIZER else 1000


class Pairs(Case):
    def play(self, addresses, rounds, mode="plain", **how):
        """Runs a server and a client. `addresses` has the server's address, then the client's."""
        port = free_port()
        server, client = ((PAIRS, port, address, rounds, mode) for address in addresses)
        server, client = self.pair(server, (*client, addresses[0]), port, timeout=TIMEOUT + 60 + rounds // 20, **how)
        for result in (server, client):
            self.assertIn("done\n", result.out)
        return server, client

    def play_apart(self, rounds, mode="plain"):
        with two_hosts() as names:
            return self.play(HOSTS, rounds, mode, options=("--as", "roce"), **apart(names))

    def test_two_processes(self):
        self.assert_silent(*self.play((own_address(), own_address()), ROUNDS))

    def test_receives_after_sends(self):
        """A Send completes although an earlier message of its peer waits for a receive."""
        addresses = own_address(), own_address()
        self.assert_silent(*self.play(addresses, ROUNDS // 10, "crossing", options=("--as", "roce")))

    @needs_namespaces
    def test_two_hosts(self):
        self.assert_silent(*self.play_apart(300))

    @needs_namespaces
    def test_a_peer_that_lies(self):
        """The output has a line for each wrong value, with an errno if the manual page specifies one. Other queue
        pairs still work."""
        _, client = self.play_apart(20, "lies")
        self.assertIn("a GID of zeros: 22\n", client.out)  # 22 is EINVAL
        self.assertEqual(client.out.count("a lie: transport retry counter exceeded\n"), 3)
        lines = re.findall(r"(?m)^iwarp: queue pair 0x\w+ cannot connect to its peer: .*", client.err)
        self.assertEqual(len(lines), 3, client.err)
        for line in client.err.splitlines():
            self.assertRegex(line, r"^iwarp: (queue pair 0x\w+ (cannot connect to its peer|does not accept the "
                                   r"connection request)|"
                                   r"ibv_modify_qp: to RTR: ah_attr\.grh\.dgid is zero )")


if __name__ == "__main__":
    if not PAIRS.exists():
        skip_all(f"{PAIRS} is not built: libibverbs-dev is missing")
    main()
