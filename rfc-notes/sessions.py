# SPDX-License-Identifier: Apache-2.0
"""Reads sessions through `iwarp explain`, for the figures (figures.py) and the answers of the course
(test/notes). This module itself decodes no octets."""
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
IWARP = os.environ.get("IWARP", str(ROOT / "build/release/apps/iwarp"))
STARTUP = [b"MPA ID %s Frame" % kind + bytes([0x40, 1, 0, 0]) for kind in (b"Req", b"Rep")]


def iwarp(*arguments, status=(0, 1)):
    """Runs the iwarp command in the root folder, to which paths in the notes are relative. Returns its output."""
    done = subprocess.run([IWARP, *arguments], cwd=ROOT, capture_output=True, text=True, check=False,
                          timeout=200)
    if done.returncode not in status:
        raise ValueError(f"iwarp {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def vectors(path):
    """Reads a file in the format of test/vectors. Returns {name: octets}."""
    out, name = {}, None
    for line in pathlib.Path(path).read_text().splitlines():
        text = line.split("#")[0]
        if text.startswith("=="):
            name = text.split()[1]
            out[name] = b""
        elif text.strip():
            out[name] += bytes.fromhex(text)
    return out


def capture_of(fpdus):
    """Returns a capture in which both ends agree on CRCs, and the connecting end then sends these FPDUs."""
    near, far = (bytes([192, 0, 2, 1]), 49152), (bytes([192, 0, 2, 2]), 7174)
    steps = [(near, far, STARTUP[0]), (far, near, STARTUP[1])] + [(near, far, f) for f in fpdus]
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    sent = {near: 1, far: 1}
    for at, (source, target, payload) in enumerate(steps):
        tcp = struct.pack(">HHIIBBHHH", source[1], target[1], sent[source], 0, 5 << 4, 0x18, 65535,
                          0, 0)
        size = 20 + len(tcp) + len(payload)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 6, 0, source[0], target[0])
        packet = bytes(12) + b"\x08\x00" + ip + tcp + payload
        out += struct.pack("<4I", 1700000000, at * 50, len(packet), len(packet)) + packet
        sent[source] += len(payload)
    return out


class Session:
    """The output of `iwarp explain` for a capture. Its frames have the names of this output: "1.4" or, short, "4"."""

    def __init__(self, capture):
        self.columns, self.frames, self.closed = [], {}, {}
        for line in iwarp("explain", "-vv", "--json", str(capture)).splitlines():
            item = json.loads(line)
            if item["type"] == "fields":
                self.columns = item["fields"]
            elif item["type"] == "frame":
                self.frames[item["connection"], item["frame"]] = item
            elif item["type"] == "closed":
                self.closed[item["connection"]] = item

    def frame(self, name):
        connection, _, number = str(name).rpartition(".")
        key = (int(connection or 1), int(number))
        if key not in self.frames:
            raise ValueError(f"there is no frame {name}")
        return self.frames[key]

    def fields(self, frame):
        """Yields the fields in wire order: (row of the field table, value, first offset, octets, bits or None)."""
        octets = bytes.fromhex(frame["octets"])
        for row, value, places, *bits in frame["fields"]:
            pieces = [octets[at:at + size] for at, size in zip(places[::2], places[1::2])]
            yield self.columns[row], value, places[0], b"".join(pieces), tuple(bits) or None


def session(source):
    """Returns the Session of a capture FILE.pcap, or one that contains the single frame FILE.hex#NAME."""
    path, _, name = source.partition("#")
    if not name:
        return Session(path)
    return session_of([vectors(ROOT / path)[name]])


def session_of(fpdus):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(capture_of(fpdus))
        file.flush()
        return Session(file.name)


def lines_of_frames(text, wanted):
    """Returns the lines in the output of `iwarp explain` that belong to the wanted frames."""
    out, inside = [], False
    for line in text.splitlines():
        start = re.match(r"(\d+)\.(\d+) ", line)
        if start or not line.startswith(" "):
            inside = bool(start) and int(start[2]) in wanted
        if inside:
            out.append(line)
    return out
