# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp explain` on captures of siw and of this stack, intact and damaged, from files and pipes, as text and
JSON. Compares the output for the captures that users try first line by line: after an intended change, set
IWARP_UPDATE_SNAPSHOTS=1 to update the expected output, and read the diff."""
import gzip
import os
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys

import made_capture
from made_capture import crc32c, records, sends
from support import IWARP, TIMEOUT, SANITIZER, Case, main, objects, run

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors"
SIW = VECTORS / "siw"
sys.path.insert(0, str(VECTORS))
from samples import SAMPLES  # noqa: E402


def pcapng(capture):
    """Converts a pcap file to pcapng."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = len(body) + 12
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), block(1, struct.pack("<HHI", 1, 0, 0))]
    for record in records(capture):
        seconds, fraction, size, wire = struct.unpack_from("<4I", record)
        micros = seconds * 1000000 + fraction
        blocks.append(block(6, struct.pack("<5I", 0, micros >> 32, micros & 0xFFFFFFFF, size, wire) + record[16:]))
    return b"".join(blocks)


class Explain(Case):
    def explain(self, *arguments):
        return self.assert_ok(run("explain", *arguments))

    def assert_little_memory(self):
        """Checks the peak of all commands so far. AddressSanitizer needs more, because it delays reuse."""
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(peak, 100 * 1024 * (3 if "address" in SANITIZER else 1))

    def of_pipe(self, octets):
        """Returns what the command says about a capture on its standard input."""
        done = subprocess.run([IWARP, "explain", "-"], input=octets, capture_output=True, timeout=TIMEOUT, check=True)
        return done.stdout.decode()


class Siw(Explain):

    def test_numbers_of_frames_and_operations_are_explained_once(self):
        text = self.explain(SIW / "term-stock.pcap")
        self.assertRegex(text, r"\AN\.M: frame M of connection N; #K: operation K of a connection; .*\nconnection 1: ")
        self.assertEqual(text.count("#K"), 1)
        self.assertNotIn("#K", run("explain", SIW / "term-stock.pcap", "--stream", "9").stdout)

    def test_requests_and_responses_are_joined(self):
        text = self.explain(SIW / "rping-crc-p2p.pcap")
        self.assertIn("1.6 +0.031827 --> RDMA Read Response #3, 1436 octets from 0 on to "
                      "STag=0x5e56f600 TO=0x5600128dc6c0; answers frame 5\n", text)
        self.assertIn("a guess: STag advertised in frame 4, with the address", text)
        self.assertIn("68 packets, 1 TCP connection, 1 with MPA, 36 frames, 0 violations\n", text)

    def test_terminates_name_their_cause_and_violations_their_rule(self):
        text = self.explain(SIW / "term-stock.pcap", "--errors")
        self.assertIn("! [MPA-46] the CRC is wrong: the field is 504682b4, the computed CRC is 504682b5\n", text)
        self.assertIn("! [DDP-32] the first MSN of a queue is not 1: 5 instead of 1\n", text)
        self.assertEqual(text.count("because of frame 3"), 3)
        self.assertEqual(text.count("[RDMAP-15]"), 3)
        self.assertNotIn("MPA Request", text)
        self.assertNotIn("RDMAP-15", self.explain(SIW / "term-fixed.pcap"))

    def test_streams_and_operations_are_chosen(self):
        text = self.explain(SIW / "term-fixed.pcap", "--stream", "2")
        self.assertIn("connection 2: ", text)
        self.assertNotIn("connection 1: ", text)
        text = self.explain(SIW / "rping-stock.pcap", "--op", "read")
        self.assertEqual(text.count("RDMA Read Re"), 6)
        self.assertNotIn("Send", text)

    def test_layers_and_octets(self):
        text = self.explain(SIW / "rdma-client-crc.pcap", "-v")
        self.assertIn("\n    MPA   FPDU with ULPDU_Length 34, PAD 0, CRC ", text)
        self.assertIn("\n        RDMAP Send\n", text)
        self.assertNotIn("00000  4d504120", text)
        self.assertIn("00000  4d504120 49442052 65712046 72616d65  MPA ID Req Frame\n",
                      self.explain(SIW / "rdma-client-crc.pcap", "-vv"))

    def test_json_says_the_same(self):
        said = objects(self.explain(SIW / "term-stock.pcap", "--json", "-vv"))
        self.assertEqual(said[0], {"type": "capture", "format": "iwarp-explain", "version": 1})
        frames = [o for o in said if o["type"] == "frame"]
        self.assertEqual(len(frames), 12)
        terminate = [f for f in frames if f["connection"] == 3][-1]
        self.assertEqual(terminate["cause"], 3)
        self.assertEqual(terminate["rdmap"]["terminate"]["says"], "MSN out of range")
        self.assertEqual(terminate["violations"][0]["rule"], "RDMAP-15")
        self.assertEqual(len(terminate["octets"]), 2 * terminate["size"])
        self.assertEqual(said[-1]["violations"], 5)
        closed = [o for o in said if o["type"] == "closed"]
        self.assertEqual([c["how"] for c in closed], ["fin"] * 3)

    def test_a_pipe_several_files_and_pcapng(self):
        capture = (SIW / "rping-stock.pcap").read_bytes()
        whole = self.explain(SIW / "rping-stock.pcap")
        self.assertEqual(self.of_pipe(capture), whole)
        # Splits the capture into several files, each with its own header, as a ring buffer of capture files does.
        packets = list(records(capture))
        parts = [self.written(f"part{at}", capture[:24] + b"".join(packets[at:at + 7]))
                 for at in range(0, len(packets), 7)]
        self.assertEqual(self.explain(*parts), whole)
        self.assertEqual(self.explain(self.written("capture.pcapng", pcapng(capture))), whole)


class Packed(Explain):
    """Tests captures that are compressed with gzip: intact ones, damaged ones, and one whose contents are much
    larger than the file."""

    def setUp(self):
        super().setUp()
        self.capture = (SIW / "rping-crc-p2p.pcap").read_bytes()
        self.whole = self.explain(SIW / "rping-crc-p2p.pcap")
        self.packed = self.scratch / "packed.pcap.gz"

    def test_files_pipes_and_logs(self):
        packed = gzip.compress(self.capture)
        self.assertEqual(self.of_pipe(packed), self.whole)
        # The second file has several gzip members, and zero padding at its end as in tape archives.
        for octets in (packed, gzip.compress(self.capture[:3000]) + gzip.compress(self.capture[3000:]) + bytes(512),
                       gzip.compress(pcapng(self.capture))):
            self.packed.write_bytes(octets)
            self.assertEqual(self.explain(self.packed), self.whole)
        log = self.scratch / "demo.qlog"
        self.assert_ok(run("demo", "--trace", log))
        packed_log = self.written("demo.qlog.gz", gzip.compress(log.read_bytes()))
        self.assertEqual(self.explain(packed_log), self.explain(log))

    def test_damage_is_named_and_what_was_before_it_is_shown(self):
        packed = gzip.compress(self.capture)
        spoiled = packed[:len(packed) // 2] + random.Random(5).randbytes(len(packed) // 2)
        checksum = bytearray(packed)
        checksum[-8] ^= 1
        for octets, says in ((packed[:len(packed) // 2], "truncated"), (packed[:-8], "truncated"),
                             (spoiled, "damaged: [a-z /]+"), (checksum, "damaged: incorrect data check")):
            with self.subTest(says=says):
                self.packed.write_bytes(octets)
                result = run("explain", self.packed)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, rf"^iwarp explain: {self.packed}: reading stopped after \d+ packets?: "
                                                rf"the gzip file is {says}\n$")
                self.assertIn("1.1 +0.000000 --> MPA Request", result.stdout)
                self.assertIn(" with MPA, ", result.stdout)
        for octets, says in ((packed[:9], "truncated"), (b"\x1f" * 99, "damaged: incorrect header check")):
            with self.subTest(octets=octets):
                self.packed.write_bytes(octets)
                self.assert_fails(run("explain", self.packed), 1,
                                  rf"^iwarp explain: cannot read the capture {self.packed}: the gzip file is {says}\n$")

    def test_a_small_file_with_much_inside_needs_no_memory(self):
        packet = struct.pack("<4I", 0, 0, 65535, 65535) + bytes(65535)
        with gzip.open(self.packed, "wb") as out:
            out.write(self.capture)
            for _ in range(4096):
                out.write(packet)
        self.assertLess(self.packed.stat().st_size, 1 << 20)
        self.assertIn("4164 packets, 1 TCP connection, 1 with MPA, 36 frames", self.explain(self.packed))
        self.assert_little_memory()


class Spoiled(Explain):
    def setUp(self):
        super().setUp()
        self.capture = (SIW / "rping-crc-p2p.pcap").read_bytes()
        self.packets = list(records(self.capture))

    def with_packets(self, packets):
        """Returns a capture file with other packets."""
        return self.written("spoiled", self.capture[:24] + b"".join(packets))

    def test_a_capture_from_the_middle_and_one_side(self):
        text = self.explain(self.with_packets(self.packets[20:]))
        self.assertIn("the capture begins in the middle of the connection: ", text)
        self.assertIn(" 0 violations\n", text)
        # At offset 26 of the Ethernet packet is the source address, here 10.0.2.15.
        text = self.explain(self.with_packets(p for p in self.packets if p[16 + 26:16 + 30] == bytes([10, 0, 2, 15])))
        self.assertIn("the capture contains nothing that 10.0.2.2:22806 sent", text)
        self.assertIn("RDMA Read Response", text)
        self.assertIn("whether 10.0.2.15:36101 uses CRCs and markers is inferred from the frames\n", text)
        # Without CRC, several headers in a row show where the frames are.
        packets = list(records((SIW / "rping-stock.pcap").read_bytes()))
        self.assertIn(", 18 frames, 0 violations\n", self.explain(self.with_packets(packets[14:])))

    def test_a_snap_length(self):
        cut = self.with_packets(p[:8] + struct.pack("<I", min(len(p) - 16, 96)) + p[12:16 + 96] for p in self.packets)
        text = self.explain(cut)
        self.assertIn("octets were not captured)", text)
        # The captured part of the packet ends before the second of its two FPDUs.
        self.assertIn(": the length of the FPDU was not captured\n", text)
        self.assertIn(", 33 frames, 0 violations\n", text)
        text = self.explain("-v", cut)
        self.assertIn("CRC not checked: 1398 octets were not captured\n", text)
        self.assertIn("one part of an RDMA Write: 1436 octets into ", text)

    def test_a_rejected_connection_is_called_so(self):
        text = self.explain(SIW.parent / "course" / "rejected.pcap")
        self.assertRegex(text, r"<-- MPA Reply .* R=true .*: rejected\n")
        self.assertIn(" after the rejection: ", text)

    def test_a_violation_is_told_in_full_once(self):
        # The MSN is at offset 12 of the FPDU, after 54 bytes of Ethernet, IP and TCP headers. The second MSN
        # becomes 5, and the third remains 3.
        packets = list(records(sends([b"x"] * 3)))
        packets[-2] = packets[-2][:16 + 54 + 12] + struct.pack(">I", 5) + packets[-2][16 + 54 + 16:]
        path = self.with_packets(packets)
        text = self.explain(path)
        self.assertEqual(text.count("! [DDP-31] the MSN does not follow the previous MSN: 5 instead of 2\n"), 1)
        self.assertEqual(text.count("1 octets ! [DDP-31] again\n"), 1)
        self.assertIn("3 instead of 6", self.explain("-v", path))

    def test_clocks_that_are_set_back(self):
        packets = list(records(sends([b"x"])))
        behind = struct.pack("<2I", 1699999998, 999999) + packets[-1][8:]
        text = self.explain(self.with_packets([*packets[:-1], behind]))
        self.assertIn("1.1 +0.000000 --> MPA Request", text)
        self.assertIn("1.2 +0.001000 <-- MPA Reply", text)
        self.assertIn("1.3 -1.000001 --> Send #1, 1 octets", text)

    def test_what_is_no_capture(self):
        for path in (self.written("empty", b""), self.file("noise", 5000), self.dir, self.scratch / "none"):
            with self.subTest(path=path):
                result = run("explain", path)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, r"^iwarp explain: cannot read the capture .*\n$")
                self.assertEqual(result.stdout, "")
        self.assert_fails(run("explain", self.file("noise", 5000)), 1, r"unknown file format \(use a pcap, pcapng or qlog file\)$")
        self.assert_fails(run("explain"), 2, "FILE")

    def test_what_was_not_read_is_said_and_the_next_file_is(self):
        capture = (SIW / "rping-stock.pcap").read_bytes()
        absurd = capture[:24] + struct.pack("<4I", 0, 0, 0xFFFFFFF0, 0xFFFFFFF0) + b"x" * 99
        strange = capture[:20] + struct.pack("<I", 147) + capture[24:]
        for octets, pattern in ((capture[:-5], r"reading stopped after 40 packets: truncated dump file"),
                                (absurd, r"reading stopped after 0 packets: "),
                                (strange, r"unsupported link type 147")):
            with self.subTest(pattern=pattern):
                path = self.written("unreadable", octets)
                result = run("explain", path, SIW / "rdma-client-crc.pcap")
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, rf"^iwarp explain: {path}: {pattern}.*\n$")
                self.assertIn("Send #1, 16 octets", result.stdout)

    def test_a_short_capture_is_not_taken_for_a_short_frame(self):
        def cut(p):
            length = min(len(p) - 16, 34 + (p[16 + 46] >> 4) * 4 + 10)  # 10 octets after the TCP header
            return p[:8] + struct.pack("<I", length) + p[12:16 + length]

        packets = self.packets[:10] + [cut(p) for p in self.packets[10:]]
        text = self.explain("-v", self.written("short", self.capture[:24] + b"".join(packets)))
        self.assertIn("unknown: the DDP header was not completely captured", text)
        self.assertNotIn("no effect", text)

    def test_memory_is_bounded(self):
        path = self.scratch / "many"
        # Repeats the connection with other ports.
        with path.open("wb") as out:
            out.write(self.capture[:24])
            for port in range(2000):
                for p in self.packets[:-4]:
                    outbound = p[16 + 26:16 + 30] == bytes([10, 0, 2, 15])
                    at = 16 + (34 if outbound else 36)
                    out.write(p[:at] + struct.pack(">H", 10000 + port) + p[at + 2:])
        text = self.explain("--op", "terminate", path)
        self.assertIn("2000 with MPA", text)
        self.assertIn("stopped following 1488 connections: too many connections were open", text)
        self.assert_little_memory()


class Status(Case):
    def test_violations_are_a_status_only_if_asked_for(self):
        page = self.scratch / "page.html"
        for options in ((), ("--stream", "1"), ("--json",), ("--html", page)):
            with self.subTest(options=options):
                self.assert_ok(run("explain", *options, SIW / "term-stock.pcap"))
                self.assertEqual(run("explain", "--strict", *options, SIW / "term-stock.pcap").returncode, 3)
                self.assert_ok(run("explain", "--strict", *options, SIW / "rping-crc-p2p.pcap"))
        self.assertEqual(run("explain", "--strict", SIW / "term-stock.pcap", "/nonexistent").returncode, 1)

    def test_a_stream_that_is_not_there(self):
        capture = SIW / "rping-crc-p2p.pcap"
        for options in ((), ("--json",), ("--html", self.scratch / "page.html")):
            with self.subTest(options=options):
                self.assert_ok(run("explain", "--stream", "1", *options, capture))
                result = run("explain", "--stream", "2", *options, capture)
                self.assertEqual((result.returncode, result.stderr),
                                 (1, "iwarp explain: --stream 2: no MPA connection has this number (the highest number is 1)\n"))


class NotIwarp(Case):
    CLIENT_HELLO = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"

    def summary(self, *packets):
        capture = self.written("capture", made_capture.FILE_HEADER + b"".join(packets))
        last = objects(self.assert_ok(run("explain", "--json", capture)))[-1]
        text = self.assert_ok(run("explain", capture))
        return re.findall("(?m)^left out: (.*)$", text), [last[f"{kind}_connections"] for kind in ("mpa", "tls", "plain")]

    def test_tls_and_plain_tcp_are_named(self):
        near, far = made_capture.NEAR, made_capture.FAR
        web = (far[0], 443)
        self.assertEqual(
            self.summary(made_capture.packet(near, web, 1, self.CLIENT_HELLO, 0),
                         made_capture.packet(near, far, 1, b"GET / HTTP/1.0\r\n\r\n", 1),
                         made_capture.packet(far, near, 1, b"HTTP/1.0 200 OK\r\n\r\n", 2)),
            (["1 TCP connection encrypted with TLS",
              "1 TCP connection without MPA (plain TCP)"], [0, 1, 1]))

    def test_mpa_is_neither(self):
        sends = made_capture.sends([self.CLIENT_HELLO])[len(made_capture.FILE_HEADER):]
        self.assertEqual(self.summary(sends), ([], [1, 0, 0]))

    def test_a_connection_without_octets_is_not_counted(self):
        self.assertEqual(self.summary(made_capture.packet(made_capture.NEAR, made_capture.FAR, 1, b"", 0, flags=2)),
                         ([], [0, 0, 0]))


class Datagrams(Case):
    """Tests captures of UDP packets in the format of rfc-notes/datagrams.md, and of other UDP packets."""

    def capture(self, *payloads, port=0x1234):
        out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
        for n, payload in enumerate(payloads):
            udp = struct.pack(">HHHH", 40000, port, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                             bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
            out += struct.pack("<IIII", 1, n, len(ip + udp), len(ip + udp)) + ip + udp
        return self.written("datagrams.pcap", out)

    def test_its_fields_are_shown(self):
        datagram = struct.pack(">BBIIII", 0x41, 0x43, 0, 0, 7, 0)
        datagram += struct.pack(">IIIII", 1 << 24 | 0x821234, 0x819C40, 0x1A, 0x2B, 0x3C) + b"hello"
        datagram += struct.pack("<I", crc32c(datagram))
        damaged = datagram[:40] + b"?" + datagram[41:]
        path = self.capture(datagram, damaged, b"something else")
        text = self.assert_ok(run("explain", path))
        shown = ("10.0.0.1:40000 --> 10.0.0.2:4660 Datagram QPN 0x819c40 -> 0x821234 Q_Key 0x0000001a "
                 "instance 0x0000002b MSN 7 immediate 0x0000003c, 5 octets")
        self.assertIn(f"UDP +0.000000 {shown}\n", text)
        self.assertIn(f"UDP +0.000001 {shown}, CRC wrong\n", text)
        self.assertIn("2 datagrams over UDP\n", text)
        self.assertIn("left out: 1 packet without TCP\n", text)
        self.assertNotIn("MSN 7", run("explain", path, "--stream", "1").stdout)

    def test_roce_is_named(self):
        path = self.capture(b"6 packets", *[bytes(64)] * 5, port=4791)
        path.write_bytes(path.read_bytes() + self.capture(b"other").read_bytes()[24:])
        text = self.assert_ok(run("explain", path))
        self.assertIn("left out: 6 packets of RoCE v2 (UDP 4791)\nleft out: 1 packet without TCP\n", text)
        self.assertEqual(objects(self.assert_ok(run("explain", "--json", path)))[-1]["roce_packets"], 6)


class Samples(Case):
    maxDiff = None

    def test_every_line_is_as_reviewed(self):
        for name, make in SAMPLES.items():
            with self.subTest(name=name):
                text = self.assert_ok(run("explain", self.written(f"{name}.pcap", make())))
                expected = VECTORS / "samples" / f"{name}.txt"
                if os.environ.get("IWARP_UPDATE_SNAPSHOTS") == "1":
                    expected.write_text(text)
                self.assertEqual(text, expected.read_text())


if __name__ == "__main__":
    main()
