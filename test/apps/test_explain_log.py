#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the logs that --trace FILE.qlog writes, and checks that `iwarp explain` reads them. A log contains details
that no capture has. explain must also read logs of other programs, and truncated or invalid logs, and print what
it skips."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile

from support import IWARP, TIMEOUT, Case, Server, main, objects, run, wait_until

SEPARATOR = b"\x1e"


def records(path, killed=False):
    """Returns the objects of a log. Each object must have its separator and its line end. If the process was
    killed, the last line may be incomplete, because Linux may have written only a part of it."""
    octets = path.read_bytes()
    assert octets.startswith(SEPARATOR), octets[:20]
    found, parts = [], octets.split(SEPARATOR)[1:]
    if killed and not parts[-1].endswith(b"\n"):
        parts.pop()
    for record in parts:
        assert record.endswith(b"\n"), record[-40:]
        found.append(json.loads(record))
    return found


def text_of(objects):
    return b"".join(SEPARATOR + json.dumps(o).encode() + b"\n" for o in objects)


def event(name, data, time=1.0, group="1"):
    return {"time": time, "name": name, "group_id": group, "data": data}


HEADER = {"file_schema": "urn:ietf:params:qlog:file:sequential",
          "serialization_format": "application/qlog+json-seq",
          "trace": {"common_fields": {"reference_time": {"wall_clock_time": "2026-11-22T10:00:00.5Z"}}}}
STARTED = event("iwarp:connection_started", {
    "opened_by": "local", "local": {"ip": "192.0.2.1", "port": 40000},
    "remote": {"ip": "2001:db8::2", "port": 7174}})
POSTED = event("iwarp:work_posted", {"queue": "send", "wr_id": "0000000000000007", "length": 64,
                                     "opcode": "write", "stag": "11223344", "to": "0000000000001000"})


class Log(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="iwarp-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.demo = pathlib.Path(folder.name) / "demo.qlog"
        run("demo", "--quiet", "--trace", cls.demo).check_returncode()

    def explain(self, *arguments):
        return self.assert_ok(run("explain", *arguments))

    def test_the_file_is_qlog_with_whole_records(self):
        found = records(self.demo)
        self.assertEqual(found[0]["file_schema"], "urn:ietf:params:qlog:file:sequential")
        self.assertEqual(found[0]["serialization_format"], "application/qlog+json-seq")
        self.assertRegex(found[0]["trace"]["common_fields"]["reference_time"]["wall_clock_time"],
                         r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        for one in found[1:]:
            self.assertTrue(one["name"].startswith("iwarp:"), one)
            self.assertEqual(one["group_id"], "1")
            self.assertIsInstance(one["data"], dict)
        names = [one["name"][6:] for one in found[1:]]
        self.assertEqual(names[0], "connection_started")
        self.assertEqual(names[-1], "connection_ended")

    def test_explain_shows_what_no_capture_has(self):
        text = self.explain(self.demo)
        self.assertRegex(text, r"\n1   \+\d\.\d{6} \*   posted Receive wr_id=0x0 of \d+ octets, before the connection was established\n")
        self.assertRegex(text, r"\*   posted RDMA Write wr_id=0x\w+, 64 octets, peer's STag=0x\w+ TO=0x\w+\n")
        self.assertRegex(text, r"\*   placed 64 octets of an RDMA Read Response at STag=")
        self.assertRegex(text, r"\*   completed RDMA Read wr_id=0x\w+, 64 octets\n")
        self.assertRegex(text, r"\*   placed a Send of \d+ octets in a receive buffer\n")
        self.assertIn("*   queue pair: RTS, was Idle\n", text)
        self.assertIn("*   RDMAP stream: Rdma\n", text)
        self.assertIn("*   queue pair: Terminate, was RTS\n", text)
        self.assertRegex(text, r"\n1\.1 \+\d\.\d{6} --> MPA Request ")
        self.assertRegex(text, r"Terminate #\d+ 1/1/00 invalid STag .*; because of frame \d+\n")
        self.assertRegex(text, r"\n\d+ records, 1 TCP connection, 1 with MPA, \d+ frames, \d violations?\n$")

    def test_only_failures_and_only_operations(self):
        failed = event("iwarp:work_completed", {"queue": "send", "wr_id": "0000000000000007", "status": "flushed"})
        refused = event("iwarp:memory_refused", {"use": "write", "stag": "11223344", "length": 64,
                                                 "to": "0000000000001000", "why": "no_right"})
        forbidden = event("iwarp:memory_refused", {"use": "read_source", "stag": "11223344", "length": 8,
                                                   "to": "0000000000001000", "why": "not_enabled"})
        path = self.written("log", text_of([HEADER, STARTED, POSTED, refused, forbidden, failed]))
        text = self.explain("--errors", path)
        self.assertIn("*   request wr_id=0x7 of the send queue failed: work request flushed\n", text)
        self.assertIn("*   refused an RDMA Write of 64 octets at STag=0x11223344 TO=0x1000: "
                      "the registration does not permit this access\n", text)
        self.assertIn("*   refused an RDMA Read of 8 octets at STag=0x11223344 TO=0x1000: "
                      "the queue pair does not permit this operation\n", text)
        self.assertNotIn("posted", text)
        self.assertNotIn("*  ", self.explain("--op", "write", self.demo))

    def test_json_has_the_members(self):
        said = objects(self.explain("--json", "-vv", self.demo))
        local = [o for o in said if o["type"] == "local"]
        self.assertEqual({o["event"] for o in local},
                         {"work_posted", "work_completed", "memory_used", "state_updated"})
        logged = [one["data"] for one in records(self.demo)[1:] if one["name"] == "iwarp:work_completed"]
        self.assertEqual([o["data"] for o in local if o["event"] == "work_completed"], logged)
        self.assertEqual({o["end"] for o in local}, {"near"})
        frames = [o for o in said if o["type"] == "frame"]
        sent = [one["data"]["raw"]["data"] for one in records(self.demo)
                if one.get("name") in ("iwarp:frame_sent", "iwarp:frame_received")]
        self.assertEqual([f["octets"] for f in frames], sent)

    def test_the_frames_are_those_of_a_capture(self):
        trace = self.scratch / "demo.pcap"
        self.assert_ok(run("demo", "--quiet", "--trace", trace))
        kinds = [[(o["kind"], o["from"], o["size"], o["op"]) for o in objects(self.explain("--json", file))
                  if o["type"] == "frame"] for file in (trace, self.demo)]
        self.assertEqual(*kinds)

    def test_a_server_that_is_killed_leaves_a_log_that_can_be_read(self):
        log = self.scratch / "serve.qlog"
        file = self.file("large", 3_000_000)
        with Server("serve", self.scratch, "--trace", log) as server:
            put = subprocess.Popen([IWARP, "put", file, server.url("large")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: log.exists() and log.stat().st_size > 1_000_000, "half a megabyte moved")
            os.kill(server.pid, signal.SIGKILL)
            put.wait(TIMEOUT)
        self.assertGreater(len(records(log, killed=True)), 10)
        result = run("explain", log)
        self.assertRegex(result.stdout, r"\n1   \+\d\.\d{6}   \* posted ")
        self.assertRegex(result.stderr, r"^(|.* record \d+ at octet \d+ was left out: truncated\n)$")

    def test_a_full_disk_is_one_line(self):
        log = self.scratch / "full.qlog"

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        result = subprocess.run([IWARP, "demo", "--quiet", "--trace", log], preexec_fn=limit,
                                capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr,
                         f"iwarp: the trace is cut short: cannot write the qlog file {log}: File too large\n")
        self.assertLessEqual(log.stat().st_size, 5000)
        self.assertGreater(len(records(log)), 5)

    def test_a_page_has_the_events(self):
        page = self.scratch / "page.html"
        result = run("explain", "--html", page, self.demo)
        if "built without the HTML page" in result.stderr:
            self.skipTest("this iwarp was built without the HTML page")
        self.assert_ok(result)
        self.assertTrue('"event":"work_posted"' in page.read_text(), page)


class Foreign(Case):
    def explain(self, octets, status):
        path = self.written("log.qlog", octets)
        result = run("explain", path)
        self.assertEqual(result.returncode, status, result.stderr)
        for stream in (result.stdout, result.stderr):
            self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in stream), stream)
        return result.stdout, result.stderr.replace(f"iwarp explain: {path}: ", "")

    def test_a_log_of_another_protocol(self):
        quic = [event("quic:packet_sent", {"header": {"packet_type": "1RTT"}})] * 3
        out, said = self.explain(text_of([HEADER, *quic]), 1)
        self.assertEqual(said, 'left out because their name space is not "iwarp": 3 events; the first is record 2 at '
                         f"octet {len(text_of([HEADER]))}: quic:packet_sent\n"
                         "contains no event of an iWARP connection\n")
        self.assertIn("4 records, 0 TCP connections, 0 with MPA, ", out)
        out, said = self.explain(text_of([HEADER, quic[0], STARTED, POSTED]), 0)
        self.assertIn('left out because their name space is not "iwarp": 1 events; the first is record 2 ', said)
        self.assertIn("posted RDMA Write wr_id=0x7, 64 octets, peer's STag=0x11223344 TO=0x1000\n", out)
        self.assertIn("connection 1: 192.0.2.1:40000 --> [2001:db8::2]:7174\n", out)

    def test_what_was_left_out_is_said_with_its_place(self):
        good = text_of([HEADER, STARTED])
        cases = [
            (b"not JSON\n", "not JSON"),
            (b"[1, 2]\n", "not a JSON object"),
            (json.dumps(POSTED).encode()[:-9], "truncated"),
            (b"[" * 5000 + b"]" * 5000 + b"\n", "JSON nested too deeply"),
            (b'{"x":"' + b"y" * 300000 + b'"}\n', "longer than 262144 octets"),
            (json.dumps({**POSTED, "time": 1e300}).encode() + b"\n", "`time` is out of range"),
            (json.dumps({**POSTED, "time": 5e12}).encode() + b"\n", "`time` is out of range"),
            (b'{"time":1e999,"name":"iwarp:x","data":{}}\n', "not JSON"),
            (json.dumps({**POSTED, "time": "soon"}).encode() + b"\n", "`time` is missing or not a number"),
            (json.dumps({**POSTED, "group_id": "9"}).encode() + b"\n",
             "no open connection has this `group_id`"),
            (json.dumps(STARTED).encode() + b"\n", "duplicate connection_started for this `group_id`"),
        ]
        for record, why in cases:
            with self.subTest(why=why):
                out, said = self.explain(good + SEPARATOR + record, 1)
                self.assertEqual(said, f"record 3 at octet {len(good)} was left out: {why}\n")
                self.assertIn("1 with MPA", out)

    def test_members_are_not_believed(self):
        frame = {"kind": "fpdu", "offset": 0, "raw": {"length": 2, "data": "0102"}}
        odd = [("work_posted", {**POSTED["data"], "length": -1}),
               ("work_posted", {**POSTED["data"], "length": 1e30}),
               ("work_posted", {**POSTED["data"], "wr_id": 7}),
               ("work_posted", {**POSTED["data"], "stag": "1122334g"}),
               ("work_posted", {**POSTED["data"], "opcode": "<script>alert(1)</script>"}),
               ("work_posted", {**POSTED["data"], "queue": "\x1b[31m"}),
               ("state_updated", {"machine": "queue_pair", "new": "</script><b>"}),
               ("memory_used", {"use": "write", "length": 1}), ("nonsense", {}),
               ("frame_sent", {**frame, "offset": -5}), ("frame_sent", {**frame, "offset": 2**63}),
               ("frame_sent", {**frame, "raw": {"length": 2**40, "data": ""}}),
               ("frame_sent", {**frame, "raw": {"length": 2, "data": "01zz"}}),
               ("frame_sent", {**frame, "raw": {"length": 2, "data": "010"}}),
               ("datagram_sent", {}), ("datagram_received", {**STARTED["data"]}),
               ("datagram_sent", {**STARTED["data"], "raw": {"length": 2, "data": "0102"}}),
               ("datagram_sent", {"local": 1, "remote": {}, "raw": frame["raw"]}),
               ("connection_started", {**STARTED["data"], "local": {"ip": "<b>", "port": 1}}),
               ("connection_started", {**STARTED["data"], "local": {"ip": "192.0.2.1", "port": 70000}})]
        out, said = self.explain(text_of([HEADER, STARTED] + [event(f"iwarp:{n}", d) for n, d in odd]), 1)
        self.assertEqual(said.count(" was left out: "), len(odd), said)
        for word in ("script", "<b>", "31m"):
            self.assertNotIn(word, out)

    def test_names_of_others_are_no_markup_and_no_controls(self):
        name = "evil\x1b]0;x\x07<script>alert(1)</script>\u202e:x"
        _, said = self.explain(text_of([HEADER, event(name, {})]), 1)
        self.assertNotIn("\x1b", said)
        page = self.scratch / "page.html"
        run("explain", "--html", page, self.written("log.qlog", text_of([HEADER, event(name, {}), STARTED, POSTED])))
        if page.exists():
            self.assertNotIn("alert(1)", page.read_text())

    def test_what_is_no_log(self):
        for octets in (b"", b"{}", b'{"qlog_version":"0.3","traces":[]}', b"\x1e", b"\x1e\n\x1e\n"):
            with self.subTest(octets=octets):
                _, said = self.explain(octets, 1)
                self.assertIn("contains no event of an iWARP connection\n", said)

    def test_many_complaints_are_counted(self):
        _, said = self.explain(text_of([HEADER, STARTED]) + (SEPARATOR + b"x\n") * 500, 1)
        self.assertEqual(len(said.splitlines()), 21)
        self.assertIn("further records left out: 480\n", said)


if __name__ == "__main__":
    main()
