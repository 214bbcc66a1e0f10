# SPDX-License-Identifier: Apache-2.0
"""Tests librpma with a program of our own, programs/rpma_operations.cpp, because Debian's fio has no engine for
librpma. The program performs the operations that applications of persistent memory use. It is built only if librpma's
headers are installed."""

from hosts import own_address
from support import PROGRAMS, Case, free_port, main, skip_all
from tried import tried

PROGRAM = PROGRAMS / "rpma_operations"


@tried("librpma", "librpma0", "write, flush, read, atomic write, write with immediate data, send",
       personas=("iwarp", "roce"))
class Rpma(Case):
    def test_each_operation(self):
        where = (own_address(), free_port())
        server, client = self.pair((PROGRAM, "server", *where), (PROGRAM, "client", *where),
                                   where[1])
        self.assert_silent(server, client)
        self.assertEqual((server.out, client.out),
                         ("server: all payload right\n", "client: all payload right\n"))

    def test_on_a_loopback_address_one_line_says_why_there_is_no_device(self):
        result = self.run_program(PROGRAM, "server", "127.0.0.1", free_port(), statuses=range(1, 256))
        self.assertRegex(result.err, r"(?m)^iwarp: the program used no RDMA device: rdma_bind_addr\(\) assigns no "
                                     r"device to an id with a loopback address, .*bind to another address")
        self.assertEqual(result.err.count("iwarp: "), 1, str(result))


if __name__ == "__main__":
    if not PROGRAM.exists():
        skip_all("librpma was missing at build time; apt-get install librpma-dev")
    main("ip")
