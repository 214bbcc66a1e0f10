# SPDX-License-Identifier: Apache-2.0
"""Runs ibv_rc_pingpong, ibv_srq_pingpong and ibv_uc_pingpong, which connect their queue pairs themselves and
validate the buffers (-c). Also runs perftest with `-c UC`."""
import re

from hosts import own_address
from perftest import PerftestCase
from support import Case, Program, free_port, is_listening, main
from tried import tried


class PingpongCase(Case):
    def play(self, program, *words, **how):
        # ibv_srq_pingpong ends when all its queue pairs together have sent enough messages, although some of its Sends
        # may still be in flight. Its connections then end. At the peer, an RNIC flushes the Sends that the peer posts
        # afterwards, so the peer may fail before it has received enough messages.
        leaves_early = program == "ibv_srq_pingpong"
        statuses = (0, 1) if leaves_early and self.persona == "iwarp" else (0,)
        server, client = self.with_client(program, "-c", *words, statuses=statuses, **how)
        self.assert_silent(server, client, leaves_early=leaves_early)
        self.assertIn(0, (server.status, client.status))
        for result in (server, client):
            if result.status == 1:
                self.assertRegex(result.err, r"(?m)^Failed status Work Request Flushed Error \(5\) for wr_id 2$")
                continue
            self.assertRegex(result.out, r"(?m)^\d+ bytes in [\d.]+ seconds = [\d.]+ Mbit/sec$")
            self.assertNotIn("invalid data", result.out + result.err)
        return server, client


@tried("ibv_rc_pingpong, ibv_srq_pingpong", "ibverbs-utils", "ping-pong with validated buffers; "
       "between machines with `--as roce` or `--oob on`", personas=("iwarp", "roce"))
class Pingpong(PingpongCase):
    def play(self, program, *words, **how):
        """With --as roce, selects a GID, because a RoCE port has no LID."""
        gid = ("-g", 0) if self.persona == "roce" and "-g" not in words else ()
        return super().play(program, *gid, *words, **how)

    def test_rc(self):
        for words in ((), ("-g", 0), ("-e",), ("-N",), ("-g", 0, "-e", "-N"), ("-s", 1),
                      ("-s", 1 << 20, "-n", 50), ("-r", 2), ("-m", 4096)):
            with self.subTest(words=words):
                self.play("ibv_rc_pingpong", *words)

    def test_srq(self):
        for words in ((), ("-g", 0), ("-e",), ("-q", 2), ("-q", 64)):
            with self.subTest(words=words):
                self.play("ibv_srq_pingpong", *words)

    def test_a_range_of_ports(self):
        """The lower half of a queue pair number is its TCP port. The library binds that port when it assigns the
        number."""
        first, second, third = free_port(), free_port(), free_port()
        options = ("--port-range", f"{first}-{first}")
        with Program("ibv_rc_pingpong", "-p", second, options=options) as server:
            server.listens(second)  # The server listens on this port after it has created its queue pair.
            # The only port of the range is in use, and the library does not try any other port.
            refused = self.run_program("ibv_rc_pingpong", "-p", third, options=options, statuses=(1,))
            self.assertIn("Couldn't create QP", refused.err)
            self.assertFalse(is_listening(server.process.pid, first))  # The queue pair does not wait for a peer yet.
        low, high = min(first, second), max(first, second) + 50
        for result in self.play("ibv_rc_pingpong", options=("--port-range", f"{low}-{high}")):
            local = re.search(r"local address: .*QPN 0x(\w+)", result.out)[1]
            self.assertIn(int(local, 16) & 0xFFFF, range(low, high + 1))


@tried("ibv_uc_pingpong", "ibverbs-utils", "ping-pong with validated buffers, with polling and "
       "with events", personas=("roce",))
class UcPingpong(PingpongCase):
    def test_uc(self):
        for words in ((), ("-e",), ("-s", 1 << 20, "-n", 50), ("-r", 2)):
            with self.subTest(words=words):
                self.play("ibv_uc_pingpong", "-g", 0, *words)


@tried("perftest, UC", "perftest", "ib_write_bw, ib_write_lat, ib_send_bw and ib_send_lat with `-c UC`",
       personas=("roce",))
class UcPerftest(PerftestCase):
    def test_each_tool(self):
        for tool in ("ib_write_bw", "ib_write_lat", "ib_send_bw", "ib_send_lat"):
            with self.subTest(tool=tool):
                self.measure(tool, "-c", "UC", host=own_address())


main("ibv_rc_pingpong", "ibv_srq_pingpong", "ibv_uc_pingpong", "ib_write_bw")
