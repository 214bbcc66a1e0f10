# SPDX-License-Identifier: Apache-2.0
"""Transfers a file of 3 GiB in both directions, with 256 MiB of memory for each process. Runs only with
IWARP_LONG=1. RLIMIT_DATA limits the memory. The limit counts all private memory including stacks, but not mapped
file pages, so the test also checks the maximum resident memory."""
import filecmp
import os
import random
import resource
import struct

from support import Case, Server, main, run, skip_all

MIB = 1 << 20
SIZE = 3 << 30
LIMIT = 256 * MIB
TIMEOUT = 500

if os.environ.get("IWARP_LONG") != "1":
    skip_all("set IWARP_LONG=1 to transfer 3 GiB in both directions")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


class BigFile(Case):
    def test_3_gib_in_256_mib(self):
        source = self.scratch / "big"
        block = random.Random(1).randbytes(MIB - 8)
        with open(source, "wb") as file:
            for i in range(SIZE // MIB):
                file.write(struct.pack(">Q", i) + block)
        with Server("serve", self.dir, preexec_fn=limit_memory) as server:
            for command in (("put", source, server.url()), ("get", server.url("big"), self.out)):
                print(self.assert_ok(run(*command, timeout=TIMEOUT, preexec_fn=limit_memory)))
            status, log = server.stop()
            self.assertEqual(status, 0, log)
        self.assertTrue(filecmp.cmp(source, self.dir / "big", shallow=False))
        self.assertTrue(filecmp.cmp(source, self.out / "big", shallow=False))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"peak of resident memory: {peak // MIB} MiB")
        self.assertLess(peak, LIMIT)


main()
