# SPDX-License-Identifier: Apache-2.0
"""Tests a program for which the device presents itself as RoCE. On the wire the program must still conform to iWARP,
including the zero-length Reads that obtain the acknowledgements for its completions. Runs `iwarp conform` against the
program, and `iwarp explain` on the capture."""
import json

from support import IWARP, TIMEOUT, Case, Program, free_port, main

ROCE = ("--as", "roce")
# Failures of these cases say nothing about this stack, because rping may exit. In the first case a connection setup
# fails. In the other two, a second client may connect before the server has started a thread for the first one, and
# rping before rdma-core 57 then uses the same rdma_cm_id in two threads.
END_RPING = {"mpa/rtr/damaged", "mpa/request/then-fin", "mpa/request/then-reset"}


class Conformance(Case):
    def iwarp(self, *words, **how):
        return self.run_program(IWARP, *words, plain=True, **how)

    def run_cases(self, *where):
        """Runs every MUST case except the cases that make rping exit. No case may fail."""
        every = json.loads(self.iwarp("conform", "--list", "--json", *where).out)
        only = [word for case in every if case["id"] not in END_RPING for word in ("--only", case["id"])]
        report = self.scratch / "report.json"
        result = self.iwarp("conform", *where, *only, "--timeout=30", f"--json={report}",
                            statuses=(0, 1), timeout=10 * TIMEOUT)
        found = json.loads(report.read_text())
        failed = [case for case in found["cases"] if case["result"] == "fail"]
        self.assertEqual((failed, found["summary"]["ended_early"]), ([], ""), str(result))
        passed = sum(case["result"] == "pass" for case in found["cases"])
        self.assertGreater(passed, len(found["cases"]) * 2 // 3, str(result))

    def test_a_server(self):
        port = free_port()
        with Program("rping", "-s", "-P", "-a", "127.0.0.1", "-p", port, options=ROCE) as server:
            server.listens(port)
            self.run_cases(f"127.0.0.1:{port}")

    def test_a_client(self):
        client = f"{IWARP} run --as roce rping -c -a 127.0.0.1 -p %p -C 1"
        self.run_cases("--serve", "0", "--client", client)


class OnTheWire(Case):
    def test_acknowledged_requests_break_no_rule(self):
        for words in (("rping", "-C", 20, "-V"), ("ib_write_bw", "-R", "-F", "-n", 50),
                      ("ib_write_bw", "-F", "-n", 50), ("ib_send_lat", "-F", "-n", 50)):
            with self.subTest(words=words):
                self.check_trace(*words)

    def check_trace(self, program, *words):
        port = free_port()
        trace = self.scratch / f"{port}.pcap"
        call = (program, *words, "-p", port)
        ends = (((*call, "-s", "-a", "127.0.0.1"), (*call, "-c", "-a", "127.0.0.1"))
                if program == "rping" else (call, (*call, "127.0.0.1")))
        self.pair(*ends, port, server_how={"options": ROCE}, client_how={"options": (*ROCE, "--trace", trace)})
        said = self.run_program(IWARP, "explain", trace, plain=True).out
        self.assertRegex(said, r"RDMA Read Request #\d+ 0 octets ", said[:2000])
        broken = self.run_program(IWARP, "explain", "--errors", trace, plain=True)
        self.assertIn(", 0 violations\n", broken.out, str(broken))


main("rping", "ib_write_bw", "ib_send_lat")
