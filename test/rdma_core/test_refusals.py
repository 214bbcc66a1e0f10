# SPDX-License-Identifier: Apache-2.0
"""What iWARP does not have: the program fails at once and cleanly, and a line of ours says why."""
import re

from support import PATIENCE, Case, free_port, main


class Refusals(Case):
    def refused(self, *words, options=()):
        result = self.run_program(*words, options=options, statuses=range(1, 256),
                                  timeout=PATIENCE / 3)
        return result, re.findall(r"(?m)^iwarp: (.*) is not supported: .+$", result.err)

    def test_programs_that_need_something_else(self):
        port = free_port()
        for words in (
            ("udaddy", "-p", port),
            ("udaddy", "-p", port, "-s", "127.0.0.1"),
            ("mckey", "-m", "239.1.2.3", "-b", "127.0.0.1"),
            ("ibv_ud_pingpong", "-p", port),
            ("ibv_uc_pingpong", "-p", port),
            ("ibv_xsrq_pingpong", "-p", port),
            ("ib_send_bw", "-F", "-p", port, "-c", "UD"),
            ("ib_write_bw", "-F", "-p", port, "-c", "UC"),
            ("ib_write_bw", "-F", "-p", port, "-c", "XRC"),
            ("raw_ethernet_bw", "-F", "--server", "-E", "02:00:00:00:00:01", "-B",
             "02:00:00:00:00:02"),
            ("rdma_xserver", "-p", port, "-c", "x"),
            ("ibv_rc_pingpong", "-p", port, "-j"),
        ):
            with self.subTest(words=words):
                result, said = self.refused(*words)
                self.assertGreaterEqual(len(said), 1, str(result))
                self.assertEqual(len(said), len(set(said)), str(result))
                quiet, said = self.refused(*words, options=("--quiet",))
                self.assertEqual(said, [], str(quiet))

    def test_rsockets(self):
        for words in (("rstream", "-b", "127.0.0.1", "-p", free_port()),
                      ("rcopy", "/etc/hostname", "127.0.0.1:/tmp/x")):
            with self.subTest(words=words):
                result, said = self.refused(*words)
                self.assertEqual(said[:1], ["rsocket"], str(result))


if __name__ == "__main__":
    main("udaddy", "mckey", "ibv_ud_pingpong", "ibv_uc_pingpong", "ibv_xsrq_pingpong", "ib_send_bw",
         "ib_write_bw", "raw_ethernet_bw", "rdma_xserver", "ibv_rc_pingpong", "rstream", "rcopy")
