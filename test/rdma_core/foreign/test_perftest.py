# SPDX-License-Identifier: Apache-2.0
"""perftest over rdma_cm (-R): runs each tool with each of its options."""
from perftest import ITERATIONS, TOOLS, PerftestCase
from support import LONG, TIMEOUT, main
from tried import tried


@tried("perftest", "perftest", "the eight tools `ib_{write,read,send,atomic}_{bw,lat}` with `-R`, "
       "and with each of `-a -b -e -q -I -D -l --use-srq` that a tool has")
class OverRdmaCm(PerftestCase):
    def test_each_tool_again_and_again(self):
        """The server closes its listener and opens it again between two connections of a run, so the client may be
        refused for a moment."""
        for _ in range(50 if LONG else 1):
            for tool in TOOLS:
                with self.subTest(tool=tool):
                    self.measure(tool, "-R")

    def test_all_sizes(self):
        # With -a the tools spend most of their time filling buffers, and an ib_send_* tool has hundreds of buffers.
        # The short run therefore tries only two tools.
        self.each("-a", "-R", "-a", tools=TOOLS if LONG else ("ib_write_bw", "ib_read_lat"),
                  iterations=5, timeout=3 * TIMEOUT)

    def test_all_sizes_in_both_directions(self):
        self.measure("ib_write_bw", "-R", "-a", "-b", iterations=5, timeout=3 * TIMEOUT)

    def test_both_directions_several_queue_pairs_events_and_inline(self):
        for words in (("-b",), ("-q", 4), ("-e",), ("-I", 64, "-s", 64)):
            self.each(words[0], "-R", *words)

    def test_for_a_time(self):
        self.each("-D", "-R", "-D", 1, "-f", 0, tools=TOOLS if LONG else ("ib_write_bw", "ib_send_lat"))

    def test_a_shared_receive_queue(self):
        # Tests only one queue pair. On iWARP, perftest decides by the receive to which queue pair a credit belongs,
        # and not by the queue pair that consumed the receive. With several queue pairs, one can get ahead of the
        # others, and perftest then waits forever on any device.
        self.each("--use-srq", "-R", "--use-srq")
        self.measure("ib_send_bw", "-R", "--use-srq", "-b")

    def test_queues_of_other_depths(self):
        self.measure("ib_write_bw", "-R", "-t", 1)
        self.measure("ib_write_bw", "-R", "-t", 4096, "-s", 512, iterations=ITERATIONS * 5)
        self.measure("ib_send_bw", "-R", "-r", 8, "-t", 4)
        self.measure("ib_read_bw", "-R", "-o", 1)
        self.measure("ib_write_bw", "-R", "-Q", 1)

    def test_lists_of_requests(self):
        self.measure("ib_write_bw", "-R", "-l", 32, iterations=320)
        self.measure("ib_send_bw", "-R", "-l", 16, "--recv_post_list", 16, iterations=320)

    def test_ibv_post_send_instead_of_the_newer_calls(self):
        self.measure("ib_write_bw", "-R", "--use_old_post_send")
        self.measure("ib_send_lat", "-R", "--use_old_post_send")

    def test_compare_and_swap(self):
        self.measure("ib_atomic_lat", "-R", "-A", "CMP_AND_SWAP")

    def test_how_connections_are_set_up(self):
        for options in (("--crc", "off"), ("--markers",), ("--fpdu", "max"),
                        ("--placement", "direct"), ("--rtr", "read")):
            with self.subTest(options=options):
                self.measure("ib_write_bw", "-R", options=options)
                self.measure("ib_send_lat", "-R", options=options)


main(*TOOLS)
