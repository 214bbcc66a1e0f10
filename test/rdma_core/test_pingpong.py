# SPDX-License-Identifier: Apache-2.0
"""ibv_rc_pingpong and ibv_srq_pingpong, which connect their queue pairs themselves; the buffers are
validated (-c)."""
from support import Case, free_port, main


class Pingpong(Case):
    def play(self, program, *words):
        port = free_port()
        call = (program, "-p", port, "-c", *words)
        server, client = self.pair(call, (*call, "127.0.0.1"), port)
        self.assert_silent(server, client)
        for result in (server, client):
            self.assertRegex(result.out, r"(?m)^\d+ bytes in [\d.]+ seconds = [\d.]+ Mbit/sec$")
            self.assertNotIn("invalid data", result.out + result.err)

    def test_rc(self):
        for words in ((), ("-g", 0), ("-e",), ("-N",), ("-g", 0, "-e", "-N"), ("-s", 1),
                      ("-s", 1 << 20, "-n", 50), ("-r", 2), ("-m", 4096)):
            with self.subTest(words=words):
                self.play("ibv_rc_pingpong", *words)

    def test_srq(self):
        for words in ((), ("-g", 0), ("-e",), ("-q", 2), ("-q", 64, "-n", 100)):
            with self.subTest(words=words):
                self.play("ibv_srq_pingpong", *words)


if __name__ == "__main__":
    main("ibv_rc_pingpong", "ibv_srq_pingpong")
