# SPDX-License-Identifier: Apache-2.0
"""Runs fio's rdma engine, which creates its objects either in a process that is forked for the job or in a thread."""
import json

from support import LONG, SANITIZER, Case, free_port, main
from tried import tried

SIZE = "1G" if LONG else "16M" if SANITIZER else "128M"


@tried("fio", "fio", "`ioengine=rdma` with write, read and send, in processes and threads",
       personas=("iwarp", "roce"))
class Fio(Case):
    def transfer(self, verb, *words):
        """In fio, the server has --rw=read and the client has --rw=write, for every RDMA operation in `verb`."""
        port = free_port()
        shared = ("--ioengine=rdma", f"--port={port}", "--bs=256k", f"--size={SIZE}", "--output-format=json", *words)
        server, client = self.pair(
            ("fio", "--name=target", *shared, "--rw=read", "--iodepth=16"),
            ("fio", "--name=source", *shared, "--rw=write", "--iodepth=8",
             "--iodepth_batch_complete=1", "--hostname=127.0.0.1", f"--verb={verb}"), port)
        self.assert_silent(server, client)
        job = json.loads(client.out[client.out.index("{"):])["jobs"][0]
        self.assertEqual(job["error"], 0)
        octets = int(SIZE[:-1]) << {"M": 20, "G": 30}[SIZE[-1]]
        self.assertEqual(job["read"]["io_bytes"] + job["write"]["io_bytes"], octets)

    def test_in_a_process_and_in_a_thread(self):
        for words in ((), ("--thread",)):
            for verb in ("write", "read", "send"):
                with self.subTest(verb=verb, words=words):
                    self.transfer(verb, *words)


@tried("fio", "fio", "this package has no `ioengine=librpma_*`, because it is built without librpma")
class WithoutLibrpma(Case):
    def test_the_engine_is_missing(self):
        """If fio gets an rpma engine, that engine needs a test, and the table in rfc-notes/programs.md must change."""
        self.assertNotIn("rpma", self.run_program("fio", "--enghelp").out)


main("fio")
