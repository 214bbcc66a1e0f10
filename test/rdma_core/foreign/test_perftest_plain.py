# SPDX-License-Identifier: Apache-2.0
"""perftest without rdma_cm. The tools exchange queue pair numbers over a TCP connection, or with -z over an rdma_cm
connection, and then connect the queue pairs themselves."""
from perftest import TOOLS, PerftestCase
from support import main
from tried import tried


@tried("perftest", "perftest", "the eight tools without rdma_cm, and with `-z`")
class WithoutRdmaCm(PerftestCase):
    def test_each_tool(self):
        self.each("")

    def test_all_sizes(self):
        self.measure("ib_read_bw", "-a", iterations=5)

    def test_both_directions(self):
        self.each("-b", "-b")

    def test_several_queue_pairs(self):
        self.each("-q", "-q", 4)

    def test_sleeping_on_events(self):
        self.each("-e", "-e")

    def test_inline_and_a_shared_receive_queue(self):
        self.each("-I", "-I", 64, "-s", 64)
        self.each("--use-srq", "--use-srq")

    def test_numbers_exchanged_over_rdma_cm(self):
        self.each("-z", "-z")

    def test_it_can_be_forbidden(self):
        with self.assertRaises(AssertionError) as failed:
            self.measure("ib_write_bw", options=("--oob", "off"))
        self.assertRegex(str(failed.exception), r"(?m)^iwarp: .*rdma_cm")


if __name__ == "__main__":
    main(*TOOLS)
