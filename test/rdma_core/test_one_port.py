# SPDX-License-Identifier: Apache-2.0
"""Tests a key-value server with TCP and RDMA on the same port number, and its client. Both use epoll on
non-blocking descriptors (programs/key_value.cpp). Each aborts if it gets a completion before the connection's
ESTABLISHED event, or if a value is wrong."""

from support import LONG, PROGRAMS, SANITIZER, Case, free_port, main, skip_all
from tried import tried

PROGRAM = PROGRAMS / "key_value"
TIMES = 1000 if LONG else 20 if SANITIZER else 200


@tried("key-value server (in test/)", "librdmacm1", "TCP and RDMA on the same port number with "
       "`--port-offset`, epoll, Writes with immediate data", personas=("iwarp", "roce"))
class OnePort(Case):
    def test_connect_work_disconnect(self):
        port = free_port()
        server, client = self.pair(
            (PROGRAM, "server", port), (PROGRAM, "client", "127.0.0.1", port, TIMES), port,
            options=("--port-offset", free_port() - port))
        self.assert_silent(server, client)
        self.assertEqual(client.out, f"client: {TIMES} connections, all values right\n")
        self.assertEqual(server.out, f"server: {TIMES} connections\n")

    def test_without_an_offset_one_line_says_what_helps(self):
        port = free_port()
        server = self.run_program(PROGRAM, "server", port, statuses=(-6,))
        self.assertRegex(server.err, rf"(?m)^iwarp: bind: TCP port {port} is in use: .* \(run .*--port-offset 1000\)$")
        self.assertEqual(server.err.count("iwarp: "), 1, str(server))


if __name__ == "__main__":
    if not PROGRAM.exists():
        skip_all("librdmacm was missing at build time; apt-get install librdmacm-dev")
    main()
