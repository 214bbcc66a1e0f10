# SPDX-License-Identifier: Apache-2.0
"""qperf over rdma_cm (-cm1). SIGALRM ends its tests, so the kernel must deliver this signal to a thread of the
program, and not to a thread of the library."""
from support import LONG, Case, Program, free_port, main
from tried import tried

TESTS = {
    "rc_lat": "latency", "rc_bw": "bw", "rc_bi_bw": "bw",
    "rc_rdma_read_lat": "latency", "rc_rdma_read_bw": "bw",
    "rc_rdma_write_lat": "latency", "rc_rdma_write_bw": "bw",
    "rc_rdma_write_poll_lat": "latency",
    "rc_compare_swap_mr": "msg_rate", "rc_fetch_add_mr": "msg_rate",
    "ver_rc_fetch_add": "msg_rate", "ver_rc_compare_swap": "msg_rate",
}


@tried("qperf", "qperf", "the RC tests with `-cm1`: latency, bandwidth, RDMA Read and Write, atomics")
class Qperf(Case):
    def measure(self, *words, tests=tuple(TESTS)):
        port = free_port()
        with Program("qperf", "-lp", port) as server:
            server.listens(port)
            client = self.run_program("qperf", "127.0.0.1", "-lp", port, "-t", 2 if LONG else 1,
                                      "-cm1", *words, *tests, timeout=120)
            # SIGALRM ends the test at each end, even with messages in flight. Each end stops posting receives
            # before that.
            self.assert_silent(client, server.result(), stops_receiving=True)
            for test in tests:
                figure = rf"(?m)^{test}:\n +(send_)?{TESTS[test]} += +[\d.]*[1-9]"
                self.assertRegex(client.out, figure, str(client))

    def test_each_test(self):
        self.measure()

    def test_polling(self):
        self.measure("-cp1", tests=("rc_lat", "rc_bw"))

    def test_large_messages(self):
        self.measure("-m", "1M", tests=("rc_bw", "rc_rdma_read_bw"))


main("qperf")
