# SPDX-License-Identifier: Apache-2.0
"""ibv_rc_pingpong and ibv_srq_pingpong, which connect their queue pairs themselves; the buffers are
validated (-c)."""
import re

from support import Case, Program, free_port, main


class Pingpong(Case):
    def play(self, program, *words, **how):
        port = free_port()
        call = (program, "-p", port, "-c", *words)
        server, client = self.pair(call, (*call, "127.0.0.1"), port, **how)
        self.assert_silent(server, client)
        for result in (server, client):
            self.assertRegex(result.out, r"(?m)^\d+ bytes in [\d.]+ seconds = [\d.]+ Mbit/sec$")
            self.assertNotIn("invalid data", result.out + result.err)
        return server, client

    def test_rc(self):
        for words in ((), ("-g", 0), ("-e",), ("-N",), ("-g", 0, "-e", "-N"), ("-s", 1),
                      ("-s", 1 << 20, "-n", 50), ("-r", 2), ("-m", 4096)):
            with self.subTest(words=words):
                self.play("ibv_rc_pingpong", *words)

    def test_srq(self):
        for words in ((), ("-g", 0), ("-e",), ("-q", 2), ("-q", 64, "-n", 100)):
            with self.subTest(words=words):
                self.play("ibv_srq_pingpong", *words)

    def test_a_range_of_ports(self):
        """The queue pair's number has the TCP port in its lower half, and its door is there."""
        first, second, third = free_port(), free_port(), free_port()
        options = ("--port-range", f"{first}-{first}")
        with Program("ibv_rc_pingpong", "-p", second, options=options) as server:
            server.listens(second).listens(first)
            # Taken: no other port is tried.
            refused = self.run_program("ibv_rc_pingpong", "-p", third, options=options,
                                       statuses=(1,))
            self.assertIn("Couldn't create QP", refused.err)
        low, high = min(first, second), max(first, second) + 50
        for result in self.play("ibv_rc_pingpong", options=("--port-range", f"{low}-{high}")):
            local = re.search(r"local address: .*QPN 0x(\w+)", result.out)[1]
            self.assertIn(int(local, 16) & 0xFFFF, range(low, high + 1))


if __name__ == "__main__":
    main("ibv_rc_pingpong", "ibv_srq_pingpong")
