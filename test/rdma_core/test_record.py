# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp cost record`: the operations that it lists are those that the program and the stack have counted."""
import json
import re
import shutil

from support import IWARP, Case, free_port, main

RECORD = (IWARP, "cost", "record", "--json")
EMPTY_WRITE = 20  # octets of the FPDU with which an initiator says that it is ready


def fpdu(header, payload):
    """Returns the octets of an FPDU: length field, header and payload, padded to a multiple of 4, and CRC."""
    return (2 + header + payload + 3) // 4 * 4 + 4


def sent(operations, answered=()):
    """Returns the number of FPDUs and their octets, if each message fits into one FPDU. `answered` are the operations
    of the peer, whose Reads this end answers."""
    sizes = []
    for verb, octets, count in operations:
        if verb != "receive":
            sizes += count * [{"send": fpdu(18, octets), "write": fpdu(14, octets), "read": fpdu(46, 0)}[verb]]
    for verb, octets, count in answered:
        if verb == "read":
            sizes += count * [fpdu(14, octets)]
    return len(sizes), sum(sizes)


class Record(Case):
    def recorded(self, server, client, port, **env):
        """Records a server and a client. Returns for each its recording and its result."""
        both = self.pair((*RECORD, *server), (*RECORD, *client), port, plain=True, env={"IWARP_LOG": "debug", **env})
        return [(json.loads(result.out[result.out.rindex('{\n "connections"'):]), result) for result in both]

    def operations(self, recording):
        self.assertEqual(recording["posts_missed"], 0)
        return [(one["verb"], one["octets"], one["count"]) for one in recording["operations"]]

    def counted(self, result):
        """Returns the FPDUs and octets sent on the first connection that ended, according to the counters in the
        log."""
        line = re.search(r"octets sent (\d+), FPDUs sent (\d+)", result.err)
        return int(line[2]), int(line[1])

    def test_rping(self):
        port = free_port()
        words = ("-a", "127.0.0.1", "-p", port, "-C", 5, "-S", 64)
        (server, server_result), (client, client_result) = self.recorded(
            ("rping", "-s", *words), ("rping", "-c", *words), port)
        posted, asked = self.operations(server), self.operations(client)
        self.assertEqual(posted, [("read", 64, 5), ("receive", 16, 10), ("send", 16, 10), ("write", 64, 5)])
        self.assertEqual(asked, [("receive", 16, 10), ("send", 16, 10)])
        self.assertEqual(self.counted(server_result), sent(posted, asked))
        fpdus, octets = sent(asked, posted)
        self.assertEqual(self.counted(client_result), (fpdus + 1, octets + EMPTY_WRITE))
        self.assertEqual(server["connections"], 1)
        self.assertGreater(server["us"]["kernel sockets"], server["us"]["RNIC, once"])

    def test_perftest(self):
        port = free_port()
        words = ("ib_write_bw", "-R", "-F", "-p", port, "-n", 200, "-s", 4096)
        _, (client, result) = self.recorded(words, (*words, "127.0.0.1"), port)
        # perftest exchanges its parameters over a second connection, by Sends.
        self.assertEqual(client["connections"], 2)
        writes = [one for one in self.operations(client) if one[0] != "send" and one[0] != "receive"]
        self.assertEqual(writes, [("write", 4096, 200)])
        self.assertLessEqual(client["most_outstanding"], 128)  # perftest's default depth
        fpdus, octets = sent(writes)
        self.assertEqual(self.counted(result), (fpdus + 1, octets + EMPTY_WRITE))

    def test_fio(self):
        if shutil.which("fio") is None:
            self.skipTest("fio is missing")
        port = free_port()
        shared = ("--ioengine=rdma", f"--port={port}", "--bs=256k", "--size=4M", "--output-format=json")
        (_, (client, result)) = self.recorded(
            ("fio", "--name=target", *shared, "--rw=read", "--iodepth=16"),
            ("fio", "--name=source", *shared, "--rw=write", "--iodepth=8", "--iodepth_batch_complete=1",
             "--hostname=127.0.0.1", "--verb=write"), port)
        job = json.loads(result.out[:result.out.rindex('{\n "connections"')])["jobs"][0]
        writes = [one for one in self.operations(client) if one[0] == "write"]
        self.assertEqual(writes, [("write", 256 << 10, job["write"]["total_ios"])])
        self.assertEqual(256 * job["write"]["total_ios"], job["write"]["io_kbytes"])
        self.assertIn(client["most_outstanding"], range(1, 9))  # at most fio's iodepth

    def test_ucx(self):
        if shutil.which("ucx_perftest") is None:
            self.skipTest("ucx_perftest is missing")
        port = free_port()
        words = ("ucx_perftest", "-p", port, "-d", "iwarp0:1", "-x", "rc_verbs", "-t", "put_bw", "-D", "zcopy", "-s",
                 8000, "-n", 100, "-f")
        log = self.scratch / "server.work.qlog"
        _, result = self.pair(words, (*RECORD, *words, "127.0.0.1"), port, env={"IWARP_AS": "roce"},
                              server_how={"options": ("--trace", log)}, client_how={"plain": True})
        client = json.loads(result.out[result.out.rindex('{\n "connections"'):])
        placed = [json.loads(line.lstrip("\x1e"))["data"] for line in log.read_text().splitlines()
                  if '"iwarp:memory_used"' in line]
        placed = [data["length"] for data in placed if data["use"] == "write" and data["length"] > 0]
        self.assertGreaterEqual(len(placed), 100)
        self.assertEqual(self.operations(client), [("write", 8000, len(placed))])
        self.assertEqual(sum(placed), 8000 * len(placed))

    def test_the_exit_status_and_the_text(self):
        self.run_program(*RECORD, "sh", "-c", "exit 3", statuses=(3,), plain=True)
        result = self.run_program(IWARP, "cost", "record", "--preset", "2007", "true", plain=True)
        self.assertRegex(result.out, r"^0 connections, at most 0 outstanding")
        self.assertRegex(result.out, r"Processor time of both hosts for the posted operations, by .*2007")
        result = self.run_program(IWARP, "cost", "record", plain=True, statuses=(2,))
        self.assertIn("CMD is missing", result.err)


if __name__ == "__main__":
    main("rping", "ib_write_bw")
