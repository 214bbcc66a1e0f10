#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses tshark as a second opinion: tshark and `iwarp explain` must agree on every field that both decode. The
captures are from siw, from sessions of this stack with each option, and from a session with every kind of
message. fields.py and rfc-notes/wireshark.md list the differences. tshark must also find nothing wrong with the
captures that this stack writes. Without tshark the test is skipped."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import fields

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "test/apps"), str(ROOT / "rfc-notes")]
from made_capture import FAR, FILE_HEADER, NEAR, packet  # noqa: E402
import sessions  # noqa: E402
from support import IWARP, TIMEOUT, Server  # noqa: E402

VECTORS = ROOT / "test/vectors"
SKIPPED = 77

SESSIONS = [
    ("--mpa-rev", "1"), ("--mpa-rev", "1", "--markers"), ("--crc", "off"),
    ("--crc", "off", "--markers"), ("--markers",), ("--rtr", "write"), ("--rtr", "read"),
    ("--rtr", "send", "--markers"), ("--extensions", "off"), ("--fpdu", "128", "--size", "3K"),
    ("--fpdu", "max", "--size", "200K", "--markers"), ("--fpdu", "max", "--size", "200K"), ("--peer-markers",),
    ("--markers", "--peer-markers")]
CHECKED = ("tshark", "--disable-protocol", "rpcordma", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
COLUMNS = ("iwarp_rdma.opcode", "iwarp_mpa.key.req", "iwarp_mpa.key.rep", "tcp.flags.syn", "tcp.flags.fin",
           "ip.checksum.status", "tcp.checksum.status", "_ws.malformed", "tcp.analysis.flags")


def vectors(name):
    return sessions.vectors(VECTORS / f"{name}.hex")


def capture(*connections):
    """Returns a capture. A connection is a list of pairs: whether the near end sent the frame, and its octets. Each
    packet contains one frame."""
    out = [FILE_HEADER]
    for port, frames in enumerate(connections, NEAR[1]):
        near = (NEAR[0], port)
        seq = {True: 1, False: 1}
        for from_near, octets in frames:
            ends = (near, FAR) if from_near else (FAR, near)
            out.append(packet(*ends, seq[from_near], octets, len(out)))
            seq[from_near] += len(octets)
    return b"".join(out)


def joined(captures):
    """Joins captures that have the same link type."""
    whole = [path.read_bytes() for path in captures]
    if len({one[:4] + one[20:24] for one in whole}) != 1:
        raise AssertionError("the captures have different link types")
    return whole[0][:24] + b"".join(one[24:] for one in whole)


def asked(path, *words):
    return subprocess.run([*CHECKED, "-r", path, *words], check=True, timeout=TIMEOUT, capture_output=True, text=True).stdout


def judged(path):
    """Returns how often tshark finds each of these in the capture."""
    names = (word for column in COLUMNS for word in ("-e", column))
    rows = [line.split("\t") for line in asked(path, "-T", "fields", *names).splitlines()]
    opcodes, requests, replies, syns, fins, ip, tcp, malformed, remarks = zip(*rows)
    tree = asked(path, "-O", "iwarp_mpa")
    return {"FPDUs": sum(len(one.split(",")) for one in opcodes if one), "Requests": sum(map(bool, requests)),
            "Replies": sum(map(bool, replies)), "SYNs": syns.count("1"), "FINs": fins.count("1"),
            "good CRCs": tree.count("Good CRC32"), "bad CRCs": tree.count("Bad CRC32"),
            # Status 1 means a correct checksum. IPv6 has no header checksum.
            "bad checksums": sum(one not in ("", "1") for one in ip) + sum(one != "1" for one in tcp),
            "malformed": sum(map(bool, malformed)), "remarks": sum(map(bool, remarks))}


class Traces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)

    def trace(self, *options):
        """Returns the capture of a session of this stack."""
        path = self.scratch / f"{'_'.join(options)}.pcap"
        subprocess.run([IWARP, "demo", "--quiet", *options, "--trace", path], check=True, timeout=TIMEOUT,
                       capture_output=True)
        return path


class Written(Traces):
    """What tshark finds in captures of this stack."""

    def check(self, path, crc, connections=1, **faults):
        found = judged(path)
        self.assertGreater(found["FPDUs"], 0, found)
        expected = dict.fromkeys(("bad CRCs", "bad checksums", "malformed", "remarks"), 0)
        expected |= {"FPDUs": found["FPDUs"], "Requests": connections, "Replies": connections, "SYNs": 2 * connections,
                     "FINs": 2 * connections, "good CRCs": found["FPDUs"] if crc else 0}
        self.assertEqual(found, expected | {name.replace("_", " "): count for name, count in faults.items()})

    # [MPA-70]
    def test_sessions_are_flawless(self):
        for crc in (True, False):
            chosen = [options for options in SESSIONS if ("--crc" not in options) == crc]
            path = self.scratch / "sessions"
            path.write_bytes(joined([self.trace(*options) for options in chosen]))
            self.check(path, crc, len(chosen))

    def test_over_ipv6(self):
        path = self.scratch / "six.pcap"
        with Server("ping", "--server", host="[::1]") as server:
            subprocess.run([IWARP, "ping", server.address, "--count", "3", "--trace", path], check=True, timeout=TIMEOUT,
                           capture_output=True)
        self.check(path, True)

    def test_a_changed_octet_is_found(self):
        path = self.trace()
        frames = fields.Explain(IWARP, path).packets.values()
        fpdu = next(bytes.fromhex(record["octets"]) for (record, _), *_ in frames if record["kind"] == "fpdu")
        changed = fpdu[:10] + bytes([fpdu[10] ^ 1]) + fpdu[11:]
        path.write_bytes(path.read_bytes().replace(fpdu, changed, 1))
        found = judged(path)
        self.assertEqual((found["bad CRCs"], found["bad checksums"]), (1, 1), found)


class Fields(Traces):
    def agree(self, capture_octets, frames_at_least):
        """Checks that both programs agree. Returns the number of fields that were compared."""
        path = self.scratch / self._testMethodName
        path.write_bytes(capture_octets)
        theirs, ours = fields.Tshark(path), fields.Explain(IWARP, path)
        frames = agreed = 0
        for number in sorted(set(theirs.packets) | set(ours.packets)):
            frames_of = theirs.packets.get(number, []), ours.packets.get(number, [])
            pairs = fields.pairs(*frames_of)
            self.assertIsNotNone(pairs, f"packet {number}: tshark and iwarp explain differ in their frames: {frames_of}")
            for their_fields, record, our_fields in pairs:
                findings, same = fields.compare_frame(their_fields, record, our_fields)
                self.assertEqual(findings, [], f"packet {number}: {record['text']}")
                frames, agreed = frames + 1, agreed + same
        self.assertGreaterEqual(frames, frames_at_least)
        print(f"{self._testMethodName}: {frames} frames, {agreed} fields agree", file=sys.stderr)
        return agreed

    def test_captures_of_siw(self):
        self.agree(joined(sorted((VECTORS / "siw").glob("*.pcap"))), 80)

    def test_every_message(self):
        startup = vectors("startup")
        messages = {**vectors("messages"), **vectors("extensions"), **vectors("terminates")}
        frames = [(True, startup["A"]), (False, startup["B"])]
        frames += [(number % 2 == 0, octets) for number, octets in enumerate(messages.values())]
        self.agree(capture(frames), len(frames))

    def test_every_startup_frame(self):
        startup = vectors("startup")
        # tshark does not recognize a Reply unless it has seen the Request.
        connections = [[(True, octets)] if octets[7:10] == b"Req"
                       else [(True, startup["A"]), (False, octets)] for octets in startup.values()]
        self.agree(capture(*connections), len(startup))

    def test_markers_both_ways(self):
        startup, marked = vectors("startup"), vectors("marked")
        frames = [(near, octets[:16] + bytes([octets[16] | 0x80]) + octets[17:])
                  for near, octets in ((True, startup["A"]), (False, startup["B"]))]
        frames += [(True, marked["Q485"]), (False, marked["P"])]
        self.assertGreaterEqual(self.agree(capture(frames), 4), 40)

    def test_sessions_of_ours(self):
        self.agree(joined([self.trace(*options) for options in SESSIONS]), 100)

    def test_a_difference_is_found(self):
        path = VECTORS / "siw" / "rping-crc-p2p.pcap"
        theirs, ours = fields.Tshark(path), fields.Explain(IWARP, path)
        number = next(n for n, frames in ours.packets.items() if "ddp" in frames[0][0])
        record, mine = ours.packets[number][0]
        changed = [(name, value + 1, size) if name == "iwarp_mpa.ulpdulength" else (name, value, size)
                   for name, value, size in theirs.packets[number][0]]
        self.assertEqual(len(fields.compare_frame(changed, record, mine)[0]), 1)
        self.assertEqual(len(fields.compare_frame(changed[1:], record, mine)[0]), 1)
        strange = [*theirs.packets[number][0], ("iwarp_rdma.new", 1, 1)]
        self.assertEqual(fields.compare_frame(strange, record, mine)[0],
                         ["tshark's iwarp_rdma.new is in no table"])


if __name__ == "__main__":
    if not shutil.which("tshark"):
        print("SKIPPED: tshark is not installed (package tshark), no field was compared")
        sys.exit(SKIPPED)
    unittest.main(verbosity=1)
