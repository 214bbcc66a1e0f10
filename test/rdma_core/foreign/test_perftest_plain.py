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

    def test_each_option(self):
        """With -z the tools exchange the numbers over rdma_cm."""
        for words in (("-b",), ("-q", 4), ("-e",), ("-I", 64, "-s", 64), ("--use-srq",), ("-z",)):
            self.each(*words[:1], *words)

    def test_it_can_be_forbidden(self):
        with self.assertRaises(AssertionError) as failed:
            self.measure("ib_write_bw", options=("--oob", "off"))
        self.assertRegex(str(failed.exception), r"(?m)^iwarp: .*rdma_cm")


main(*TOOLS)
