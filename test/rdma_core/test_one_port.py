# SPDX-License-Identifier: Apache-2.0
"""Tests a server with TCP and RDMA on the same port number, and its client (programs/one_port.py)."""
import pathlib
import sys

from support import LONG, SANITIZER, Case, free_port, main, skip_all
from tried import tried

PROGRAM = (sys.executable, pathlib.Path(__file__).parent / "programs/one_port.py")
TIMES = 1000 if LONG else 200


@tried("TCP and rsockets on one port (in test/)", "librdmacm1", "TCP and RDMA on the same port number with "
       "`--port-offset`", personas=("iwarp", "roce"))
class OnePort(Case):
    def test_connect_work_disconnect(self):
        port = free_port()
        server, client = self.pair(
            (*PROGRAM, "server", port, TIMES), (*PROGRAM, "client", port, TIMES), port,
            options=("--port-offset", free_port() - port))
        self.assert_silent(server, client)

    def test_without_an_offset_one_line_says_what_helps(self):
        port = free_port()
        server = self.run_program(*PROGRAM, "server", port, 1, statuses=(1,))
        self.assertRegex(server.err, rf"(?m)^iwarp: bind: TCP port {port} is in use: .* \(run .*--port-offset 1000\)$")
        self.assertEqual(server.err.count("iwarp: "), 1, str(server))


if __name__ == "__main__":
    if SANITIZER:
        skip_all("Python is not built with the sanitizer")
    main()
