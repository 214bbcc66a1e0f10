#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes captures of the same kinds as Wireshark's sample captures, whose license is not stated. The captures have
the same deviations of the peers and the same gaps, but generated octets. test/apps/test_explain.py
compares the output of `iwarp explain` for each of them with samples/NAME.txt.

usage: samples.py OUT_DIR     writes a file NAME.pcap for each capture
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from made_capture import FAR, FILE_HEADER, NEAR, crc32c, packet  # noqa: E402

STAG, TO = 1, 0x805C000


class Sender:
    """One end: its startup frame and its FPDUs. With `late`, it does not count CRC fields when it places markers,
    and it writes FPDUPTR in little-endian order. With `swapped`, it only writes FPDUPTR in little-endian order."""

    def __init__(self, key, markers=False, crc=False, late=False, swapped=False):
        self.key, self.markers, self.crc, self.late = key, markers, crc, late
        self.swapped = swapped or late
        self.position = 0

    def startup(self, private_data=b"", rejected=False):
        flags = 0x80 * self.markers | 0x40 * self.crc | 0x20 * rejected
        return self.key + struct.pack(">BBH", flags, 1, len(private_data)) + private_data

    def fpdu(self, ulpdu):
        octets = struct.pack(">H", len(ulpdu)) + ulpdu
        octets += bytes(-len(octets) % 4)
        out, begin = b"", 0
        for at in range(0, len(octets) + 4, 4):
            if self.markers and self.position % 512 == 0:
                out += struct.pack("<HH" if self.swapped else ">HH", 0, len(out) - begin if at else 0)
                self.position += 4
            if at == 0:
                begin = len(out)
            out += octets[at:at + 4]
            self.position += 4
        if self.late:
            self.position -= 4
        return out + struct.pack("<I", crc32c(out) if self.crc else 0)


def send(msn, payload, opcode=3, stag=0):
    return struct.pack(">BB4I", 0x41, 0x40 | opcode, stag, 0, msn, 0) + payload


def tagged(opcode, payload, last=True):
    return struct.pack(">BBIQ", 0xC1 if last else 0x81, 0x40 | opcode, STAG, TO) + payload


def write(size=1024):
    return tagged(0, b"\x02" * size)


def read_response(size=1024):
    return tagged(2, b"\x03" * size)


def read_request(msn, size=1024, order=">", to=TO):
    return (struct.pack(">BB4I", 0x41, 0x41, 0, 1, msn, 0)
            + struct.pack(order + "IQIIQ", STAG, to, size, STAG, to))


class Capture:
    """Both ends of a connection. Every packet acknowledges all earlier octets of the other end."""

    def __init__(self, opening=True, **options):
        # An end that sets the M flag wants to receive markers. Here both ends have the same flag.
        self.near = Sender(b"MPA ID Req Frame", **options)
        self.far = Sender(b"MPA ID Rep Frame", **options)
        self.seq = {NEAR: 1000, FAR: 5000}
        self.at = 0
        self.records = [FILE_HEADER]
        if opening:
            self.segment(NEAR, b"", 0x02)
            self.segment(FAR, b"", 0x12)

    def segment(self, end, octets, flags=0x18, lost=False):
        other = FAR if end is NEAR else NEAR
        if not lost:
            self.records.append(packet(end, other, self.seq[end], octets, self.at, self.seq[other], flags))
        self.seq[end] += len(octets) + (flags & 0x03 != 0)
        self.at += 1

    def start(self, asked=b"", answered=b"", rejected=False):
        self.segment(NEAR, self.near.startup(asked))
        self.segment(FAR, self.far.startup(answered, rejected))

    def says(self, end, *ulpdus, lost=False):
        """Adds a packet with the FPDUs as one segment."""
        sender = self.near if end is NEAR else self.far
        self.segment(end, b"".join(map(sender.fpdu, ulpdus)), lost=lost)

    def octets(self, close=True, skip=0):
        """Returns the contents of the file without the first `skip` packets."""
        if close:
            self.segment(NEAR, b"", 0x11)
            self.segment(FAR, b"", 0x11)
        return self.records[0] + b"".join(self.records[1 + skip:])


def started(**options):
    capture = Capture(**options)
    capture.start(b"private", b"too\0data")
    return capture


def rejected():
    capture = Capture()
    capture.start(b"private", b"too\0data", rejected=True)
    return capture.octets()


def sends():
    """Sends a message with each kind of Send, with CRCs and markers. The responder sends first."""
    capture = started(markers=True, crc=True)
    capture.says(FAR, send(1, b"s" * 16))
    for msn, opcode in enumerate((3, 4, 5, 6), 1):
        capture.says(NEAR, send(msn, b"r" * 16, opcode, STAG if opcode in (4, 6) else 0))
    return capture.octets()


def writes_and_reads(capture, writes, reads):
    """The responder writes its Read Requests in little-endian order, and counts all its untagged messages in one
    sequence."""
    capture.says(FAR, send(1, b"s" * 16))
    capture.says(NEAR, send(1, b"r" * 16))
    for _ in range(writes):
        capture.says(FAR, write())
    for msn in range(2, 2 + reads):
        capture.says(FAR, read_request(msn, order="<"))
        capture.says(NEAR, read_response())
    capture.says(FAR, send(2 + reads, b"done"))
    return capture.octets()


def little_endian_reads():
    return writes_and_reads(started(), writes=2, reads=3)


def late_markers():
    """The FPDUs are so long that some markers are delayed until the next FPDU."""
    return writes_and_reads(started(markers=True, late=True), writes=18, reads=12)


def swapped_markers():
    return writes_and_reads(started(markers=True, swapped=True), writes=3, reads=0)


def middle():
    """This capture begins in the middle of a Write, and has no CRCs."""
    capture = started()
    capture.says(NEAR, send(1, b"r" * 16))
    fpdu = capture.near.fpdu(write(2000))
    capture.segment(NEAR, fpdu[:1000])
    capture.segment(NEAR, fpdu[1000:])
    capture.says(NEAR, write(700))
    for msn in range(2, 9):
        capture.says(NEAR, send(msn, b"m" * 40))
        capture.says(FAR, send(msn - 1, b"n" * 20))
    return capture.octets(close=False, skip=6)


def smb_direct():
    """IRD and ORD are in the private data. An empty Read is the RTR. Its response was not captured."""
    capture = Capture(crc=True)
    capture.start(struct.pack(">II", 16, 0), struct.pack(">II", 0, 16))
    capture.says(NEAR, read_request(1, size=0, to=1), send(1, b"q" * 20))
    capture.says(FAR, struct.pack(">BBIQ", 0xC1, 0x42, 1, 1), lost=True)
    capture.says(FAR, send(1, b"a" * 32))
    for msn in range(2, 6):
        capture.says(NEAR, send(msn, b"q" * 100))
        capture.says(FAR, send(msn, b"a" * 80))
    return capture.octets(close=False)


SAMPLES = {"rejected": rejected, "sends": sends, "little-endian-reads": little_endian_reads,
           "late-markers": late_markers, "swapped-markers": swapped_markers, "middle": middle,
           "smb-direct": smb_direct}

if __name__ == "__main__":
    for name, make in SAMPLES.items():
        (pathlib.Path(sys.argv[1]) / f"{name}.pcap").write_bytes(make())
