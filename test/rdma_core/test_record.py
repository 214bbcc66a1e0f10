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

    def ways(self, recording, program):
        """Returns the ways of the prediction by name. Checks that the sentence about the program says their speed and
        what bounds them, and that the size is the mean of what was posted."""
        answer = recording["answer"]
        ways = {way["way"]: way for way in answer["ways"]}
        sentence = answer["sentences"][0]
        self.assertEqual(sentence["about"], "program")
        said = re.findall(r"([\d.e+]+) times as fast [\w ]+ \(bound by (?:the|its [\d.]+)? ?([^)]+)\)", sentence["text"])
        self.assertIn(f"{program} would run ", sentence["text"])
        for (speed, bound), name in zip(said, ("RNIC, once", "RNIC, each time", "kernel sockets", "TOE"), strict=True):
            ratio = ways[name]["gbps"] / ways["software iWARP"]["gbps"]
            self.assertAlmostEqual(float(speed) / ratio, 1, delta=0.06, msg=name)  # two digits
            self.assertIn(bound.replace("message in", "messages in"), ways[name]["limit"])
        posted = [one for one in recording["operations"] if one["verb"] != "receive"]
        count = sum(one["count"] for one in posted)
        mean = sum(one["count"] * max(one["octets"], 1) for one in posted) / count
        self.assertAlmostEqual(answer["size"], mean, delta=1e-6 * mean)
        return ways

    def operations(self, recording):
        self.assertEqual(recording["posts_missed"], 0)
        return [(one["verb"], one["octets"], one["count"]) for one in recording["operations"]]

    def counted(self, result):
        """Returns the FPDUs and octets sent on each connection, according to the counters in the log."""
        lines = re.findall(r"octets sent (\d+), FPDUs sent (\d+)", result.err)
        return [(int(fpdus), int(octets)) for octets, fpdus in lines]

    def test_rping(self):
        port = free_port()
        words = ("-a", "127.0.0.1", "-p", port, "-C", 5, "-S", 64)
        (server, server_result), (client, client_result) = self.recorded(
            ("rping", "-s", *words), ("rping", "-c", *words), port)
        posted, asked = self.operations(server), self.operations(client)
        self.assertEqual(posted, [("read", 64, 5), ("receive", 16, 10), ("send", 16, 10), ("write", 64, 5)])
        self.assertEqual(asked, [("receive", 16, 10), ("send", 16, 10)])
        self.assertEqual(self.counted(server_result), [sent(posted, asked)])
        fpdus, octets = sent(asked, posted)
        self.assertEqual(self.counted(client_result), [(fpdus + 1, octets + EMPTY_WRITE)])
        self.assertEqual(server["connections"], 1)
        ways = self.ways(server, "rping")
        self.assertGreater(ways["kernel sockets"]["total_us"], ways["RNIC, once"]["total_us"])
        self.assertEqual(ways["RNIC, once"]["limit"], "number of messages in flight")  # rping has one
        self.assertEqual({one["outstanding"] for one in client["operations"] if one["verb"] == "send"}, {1})
        self.assertGreater(client["seconds"], 0)

    def test_perftest(self):
        port = free_port()
        words = ("ib_write_bw", "-R", "-F", "-p", port, "-n", 200, "-s", 4096)
        _, (client, result) = self.recorded(words, (*words, "127.0.0.1"), port)
        # perftest exchanges its parameters over a second connection, by Sends.
        self.assertEqual(client["connections"], 2)
        writes = [one for one in self.operations(client) if one[0] != "send" and one[0] != "receive"]
        self.assertEqual(writes, [("write", 4096, 200)])
        self.assertLessEqual(client["most_outstanding"], 128)  # perftest's default depth
        outstanding = next(one["outstanding"] for one in client["operations"] if one["verb"] == "write")
        self.assertLessEqual(outstanding, client["most_outstanding"])
        self.assertGreater(outstanding, 1)
        self.ways(client, "ib_write_bw")
        fpdus, octets = sent(writes)
        self.assertIn((fpdus + 1, octets + EMPTY_WRITE), self.counted(result))

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
        # All messages are alike, so the prediction is that for one of them.
        ways = self.ways(client, "ucx_perftest")
        depth = str(client["operations"][0]["outstanding"])
        alone = json.loads(self.run_program(IWARP, "cost", "predict", "--json", "--size", "8000", "--advertise", "1e12",
                                            "--depth", depth, plain=True).out)
        for one in alone["ways"]:
            if "RNIC" not in one["way"]:  # predict has no option for one-sided operations
                self.assertAlmostEqual(ways[one["way"]]["total_us"], one["total_us"])
                self.assertAlmostEqual(ways[one["way"]]["gbps"], one["gbps"])

    def test_the_exit_status_and_the_text(self):
        self.run_program(*RECORD, "sh", "-c", "exit 3", statuses=(3,), plain=True)
        result = self.run_program(IWARP, "cost", "record", "true", plain=True)
        self.assertRegex(result.out, r"\Aconnections: 0; outstanding requests per connection: at most 0\noperation .*outstanding\n\Z")
        # An invalid change is refused before the program runs.
        result = self.run_program(IWARP, "cost", "record", "--what-if", "speed=2", "touch",
                                  self.scratch / "ran", plain=True, statuses=(2,))
        self.assertIn("--what-if", result.err)
        self.assertFalse((self.scratch / "ran").exists())
        result = self.run_program(IWARP, "cost", "record", plain=True, statuses=(2,))
        self.assertIn("CMD is missing", result.err)


main("rping", "ib_write_bw")
