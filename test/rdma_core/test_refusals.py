# SPDX-License-Identifier: Apache-2.0
"""Tests features that iWARP does not have, and a usual mistake. The program must fail immediately and cleanly, and a
message of this stack must say why."""
import re
import subprocess

from support import IWARP, Case, Program, free_port, is_listening, main

REFUSED = r"(?m)^iwarp: (.*) is not supported: .+$"


class Refusals(Case):
    def refused(self, *words, options=()):
        result = self.run_program(*words, options=options, statuses=range(1, 256))
        return result, re.findall(REFUSED, result.err)

    def test_programs_that_need_something_else(self):
        port = free_port()
        for words in (
            ("udaddy", "-p", port),
            ("udaddy", "-p", port, "-s", "127.0.0.1"),
            ("mckey", "-m", "239.1.2.3", "-b", "127.0.0.1"),
            ("ibv_ud_pingpong", "-p", port),
            ("ibv_uc_pingpong", "-p", port),
            ("ibv_xsrq_pingpong", "-p", port),
            ("raw_ethernet_bw", "-F", "--server", "-E", "02:00:00:00:00:01", "-B", "02:00:00:00:00:02"),
            ("rdma_xserver", "-p", port, "-c", "x"),
        ):
            with self.subTest(words=words):
                result, said = self.refused(*words)
                self.assertGreaterEqual(len(said), 1, str(result))
                self.assertEqual(len(said), len(set(said)), str(result))
                quiet, said = self.refused(*words, options=("--quiet",))
                self.assertEqual(said, [], str(quiet))

    def test_the_command_that_a_refusal_names_explains_it(self):
        for words, error in ((("ibv_ud_pingpong",), "ibv_create_qp EOPNOTSUPP"),
                             (("ibv_rc_pingpong", "-g", 99), "ibv_query_gid EINVAL"),
                             (("ibv_rc_pingpong", "-g", 1, "-r", 5000000), "ibv_create_cq EINVAL")):
            with self.subTest(words=words):
                said = re.findall(r"(?m)^iwarp: .*\bsee (iwarp explain-error .*)\)$", self.refused(*words)[0].err)
                self.assertEqual(said, [f"iwarp explain-error {error}"])
                explained = subprocess.run([IWARP, *said[0].split()[1:]], capture_output=True, text=True, timeout=60)
                self.assertIn(error, explained.stdout)

    def test_perftest_with_other_kinds_of_queue_pairs(self):
        """The server of each of these tools opens the device only when a client connects."""
        for words in (("ib_send_bw", "-c", "UD"), ("ib_write_bw", "-c", "UC"),
                      ("ib_write_bw", "-c", "XRC"), ("ib_send_bw", "-R", "-c", "UD")):
            port = free_port()
            call = (*words, "-F", "-p", port)
            with self.subTest(words=words), Program(*call) as server:
                server.wait_until(lambda: server.result().err or is_listening(server.process.pid,
                                  port), "listening, or saying why not")
                client = self.run_program(*call, "127.0.0.1", statuses=range(1, 256))
                # With -R, the library refuses the client's queue pair before the server creates its own.
                at_server = self.check(server.wait(), range(1, 256))
                for result in (client,) if "-R" in words else (client, at_server):
                    self.assertRegex(result.err, REFUSED, str(result))

    def test_a_ping_pong_as_roce_without_a_gid(self):
        """The port has no LID, and RoCE requires a global route."""
        port = free_port()
        call = ("ibv_rc_pingpong", "-p", port)
        with Program(*call, options=("--as", "roce")) as server:
            server.listens(port)
            client = self.run_program(*call, "127.0.0.1", options=("--as", "roce"), statuses=range(1, 256))
            # The server refuses its queue pair first, and may have gone when the client would refuse its own.
            server = self.check(server.wait(), range(1, 256))
            self.assertIn("Failed to modify QP to RTR", server.err)
            self.assertRegex(server.err, r"(?m)^iwarp: ibv_modify_qp: to RTR: ah_attr\.is_global 0: .* -g 0; "
                             r"see iwarp explain-error ibv_modify_qp EINVAL\)$",
                             str(client))


if __name__ == "__main__":
    main("udaddy", "mckey", "ibv_rc_pingpong", "ibv_ud_pingpong", "ibv_uc_pingpong", "ibv_xsrq_pingpong", "ib_send_bw",
         "ib_write_bw", "raw_ethernet_bw", "rdma_xserver")
