#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the first inputs of every fuzz target. Makes them from the frames in test/vectors, and from the inputs in
regressions/ that once violated a property.

usage: seeds.py VECTORS_DIR OUT_DIR
"""
import json
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from made_capture import crc32c, records  # noqa: E402

FILES = ("startup", "messages", "terminates", "extensions", "marked")


def frames(path):
    """Returns [(name, position or None, octets)] of the frames in one .hex file."""
    found = []
    for line in path.read_text().splitlines():
        heading = re.match(r"== (\S+)(?: @(\d+))? ", line)
        if heading:
            found.append([heading[1], heading[2], b""])
        elif not line.startswith("#") and line.strip():
            found[-1][2] += bytes.fromhex(line)
    return found


def ulpdu(fpdu):
    (length,) = struct.unpack_from(">H", fpdu)
    return fpdu[2:2 + length]


def op(code, octets):
    """Returns one operation for the stream and connection targets: the code, a 16-bit length, and the octets."""
    return bytes([code]) + struct.pack(">H", len(octets)) + octets


def framed(octets, filler=0):
    """Returns the operation of the connection target that frames a segment, with filler octets as its payload."""
    return bytes([1, len(octets)]) + octets + struct.pack(">H", filler)


def tagged(opcode, stag, to, payload, last=True):
    return struct.pack(">BBIQ", 0xC1 if last else 0x81, 0x40 | opcode, stag, to) + payload


def untagged(opcode, qn, msn, mo, payload, last=True, stag=0):
    control = 0x41 if last else 0x01
    return struct.pack(">BBIIII", control, 0x40 | opcode, stag, qn, msn, mo) + payload


def read_request(msn, size, stag, to=0):
    return untagged(1, 1, msn, 0, struct.pack(">IQIIQ", 5, 0, size, stag, to))


def atomic_request(msn, opcode, stag, to, add=1, mask=0, compare=0, compare_mask=2**64 - 1):
    header = struct.pack(">IIIQQQQQ", opcode, msn, stag, to, add, mask, compare, compare_mask)
    return untagged(10, 1, msn, 0, header)


def extension_segments():
    """Returns groups of segments for RFC 7306: atomics on the region with STag 1, and Immediates."""
    read = untagged(1, 1, 2, 0, struct.pack(">IQIIQ", 5, 0, 8, 2, 0))
    return {
        "atomics": [atomic_request(1, 0, 1, 16), read,
                    atomic_request(3, 2, 1, 16, 99, 2**64 - 1, 1)],
        "misaligned": [atomic_request(1, 0, 1, 20)],
        "outside": [atomic_request(1, 0, 1, 12288)],
        "swap-opcode": [atomic_request(1, 1, 1, 16)],
        "answer": [untagged(11, 3, 1, 0, struct.pack(">IQ", 0, 41))],
        "immediates": [untagged(8, 0, 1, 0, b"12345678"), untagged(9, 0, 2, 0, b"87654321"),
                       untagged(3, 0, 3, 0, b"hello")],
        "announced": [untagged(8, 0, 1, 0, b"1234\xC0\0\0\0"),
                      untagged(3, 0, 2, 0, b"hel", last=False), untagged(3, 0, 2, 3, b"lo"),
                      untagged(8, 0, 3, 0, b"5678\xC0\0\0\0"), untagged(5, 0, 4, 0, b"")],
        "announced-twice": [untagged(8, 0, 1, 0, b"1234\xC0\0\0\0"),
                            untagged(8, 0, 2, 0, b"1234\xC0\0\0\0")],
        "announced-write": [untagged(8, 0, 1, 0, b"1234\xC0\0\0\0"), tagged(0, 1, 16, b"x" * 40)],
        "announced-long": [untagged(8, 0, 1, 0, b"1234\xC0\0\0\0"),
                           untagged(3, 0, 2, 0, b"x" * 200)],
        "immediate-long": [untagged(8, 0, 1, 0, b"123456789")],
        "immediate-changes": [untagged(8, 0, 1, 0, b"1234", last=False),
                              untagged(3, 0, 1, 4, b"5678")],
    }


def segments():
    """Returns ULPDUs that access regions of the targets: STag 1 may be written, and STag 2 may be read."""
    return {
        "write": [tagged(0, 1, 16, b"x" * 40), tagged(0, 1, 56, b"y" * 10, last=False)],
        "empty-write": [tagged(0, 99, 2**64 - 1, b"")],
        "write-outside": [tagged(0, 1, 12270, b"x" * 40)],
        "sends": [untagged(3, 0, 1, 0, b"hello", last=False), untagged(3, 0, 1, 5, b"!"),
                  untagged(5, 0, 2, 0, b""), untagged(4, 0, 3, 0, b"", stag=1)],
        "reads": [read_request(1, 64, 2), read_request(2, 0, 99), read_request(3, 9000, 2)],
        "response": [tagged(2, 3, 0, b"r" * 64)],
        "terminate": [untagged(7, 2, 1, 0, bytes.fromhex("1100c000"))],
    }


def large_payloads():
    """Yields payloads that are placed while they arrive. Some go to a region whose access is revoked meanwhile."""
    write, send = tagged(0, 1, 8, b""), untagged(3, 0, 1, 0, b"")
    work = bytes([4, 0, 0x17, 0, 5, 2, 0x17, 0, 3, 8, 0])
    for bits in (0x00, 0x01, 0x80, 0x89, 0x99, 0x81, 0x05):
        start = bytes([bits, 40, 120])
        yield "connection", f"large-write-{bits:02x}", start + framed(write, 5500)
        yield "connection", f"large-send-{bits:02x}", start + work + framed(send, 5500)
        response = tagged(2, 0, 0, b"")
        yield "connection", f"large-response-{bits:02x}", start + work + framed(response, 0x1700)
        # The owner revokes the peer's access to the region while the payload is arriving.
        part = b"\2" + framed(write, 5500)[1:] + bytes([60, 0x37])
        yield "connection", f"closed-{bits:02x}", start + part + op(0, b"") + framed(send, 0)


def extension_seeds(posted):
    for name, group in extension_segments().items():
        asked = bytes([0x04, 10]) + b"\x13\x01\x00"  # an Atomic Request that this end posts
        body = b"".join(op(0, s) + bytes([0x33, 0, 64]) for s in group)
        yield "stream", f"extension-{name}", bytes([0x8F]) + asked + posted + body
        body = b"".join(framed(s) + bytes([3, 8, 0]) for s in group)
        work = bytes([4, 0, 0, 64, 4, 0, 0, 64, 4, 0, 0, 64, 5, 4, 0, 0, 5, 6, 0, 0, 5, 7, 0, 9,
                      3, 8, 0])
        for bits in (0x00, 0x01, 0x08, 0x09, 0x19, 0x81):
            for agreed, more in (("", 42), ("imm-", 46)):
                yield ("connection", f"extension-{agreed}{name}-{bits:02x}",
                       bytes([bits, more, 60]) + work + body)


def capture_seeds(vectors):
    for path in sorted((vectors / "siw").glob("*.pcap")):
        capture = path.read_bytes()
        yield "explain", path.stem + "-file", b"\xff" + capture
        packets = [(record[16:], struct.unpack_from("<I", record, 12)[0]) for record in records(capture)]
        for snap in (0, 72):
            kept = [(p[:snap or None], wire) for p, wire in packets]
            body = b"".join(op(min(255, (wire - len(p)) // 8), p) for p, wire in kept)
            yield "explain", f"{path.stem}-{snap}", b"\0" + body
            body = b"".join(op(0, p) for p, _ in kept[len(kept) // 2:])
            yield "explain", f"{path.stem}-{snap}-middle", b"\0" + body
    # A small session without a link layer. It is so short that every octet can be changed.
    small = list(records((vectors / "siw" / "rdma-client-crc.pcap").read_bytes()))[8:12]
    yield "explain", "small", b"\2" + b"".join(op(0, record[16 + 14:]) for record in small)


def marked(fpdus, marker, counted=4):
    """Returns the FPDUs as one stream with markers. marker(distance) returns the octets of each marker. To find the
    positions of the markers, the sender counts only `counted` of the 4 octets of each CRC field."""
    out, position = b"", 0
    for fpdu in fpdus:
        begin = None
        for at in range(0, len(fpdu), 4):
            if position % 512 == 0:
                out += marker(0 if begin is None else len(out) - begin)
                position += 4
            begin = len(out) if begin is None else begin
            out += fpdu[at:at + 4]
            position += 4
        position += counted - 4
    return out


def stream_seeds():
    """Yields streams with markers and without CRCs. Some of the markers are invalid."""
    fpdus = [struct.pack(">H", 14 + 400) + tagged(0, 1, 0x1000, bytes(400)) + bytes(4) for _ in range(6)]
    startup = op(0, b"MPA ID Req Frame\x80\1\0\0") + op(1, b"MPA ID Rep Frame\x80\1\0\0")
    for name, marker in {
            "right": lambda distance: struct.pack(">I", distance),
            "swapped": lambda distance: struct.pack("<HH", 0, distance),
            "late": lambda distance: struct.pack("<HH", 0, distance),
            "zero": lambda _: bytes(4),
            "beyond": lambda distance: struct.pack(">I", distance + 4 if distance else 0),
            "filler": lambda _: b"\2\2\2\2"}.items():
        stream = marked(fpdus, marker, counted=0 if name == "late" else 4)
        pieces = b"".join(op(0, stream[at:at + 700]) for at in range(0, len(stream), 700))
        yield "explain", f"markers-{name}", b"\xfd" + startup + pieces
        yield "explain", f"markers-{name}-middle", b"\xfd" + pieces
        hole = op(0, stream[:500]) + struct.pack(">BH", 0x80, 300) + op(0, stream[800:])
        yield "explain", f"markers-{name}-hole", b"\xfd" + startup + hole
        yield "explain", f"markers-{name}-short", b"\xfd" + startup + op(0, stream[:430])


def datagram(msn, payload, flags=0, opcode=3, destination=0x800001, q_key=1, immediate=0):
    head = untagged(opcode, 0, msn, 0, b"")
    addresses = struct.pack(">IIIII", flags << 24 | destination, 0x800002, q_key, 77, immediate)
    return head + addresses + payload + bytes(4)


def datagram_seeds():
    """Yields groups of datagrams. If the first octet of the input is 1, the target writes a valid CRC into the last 4
    octets of each datagram. The target makes every size odd, so the sizes here are odd, too."""
    groups = {
        "sends": [datagram(1, b"hello"), datagram(3, b""), datagram(2, b"late!", opcode=5)],
        "immediate": [datagram(9, b"x" * 7, flags=1, immediate=5)],
        "strangers": [datagram(1, b"abc", q_key=2), datagram(2, b"abc", destination=0xFFFFFF),
                      datagram(3, b"abc", flags=2), datagram(4, b"abc", immediate=1)],
        "long": [datagram(1, b"z" * 213)],
    }
    for name, group in groups.items():
        body = b"".join(bytes([len(each) | 1]) + each.ljust(len(each) | 1, b"\0") for each in group)
        for signs in (0, 1):
            yield "datagram", f"{name}-{signs}", bytes([signs]) + body


def log_records(frames_of_log):
    """Yields the records of a log, which has one event for each frame, and then one event of each other kind. Each
    element of `frames_of_log` is a pair: True if this end has sent the frame, and the octets of the frame."""
    def event(name, data):
        return {"time": 1.5, "name": f"iwarp:{name}", "group_id": "1", "data": data}

    yield {"file_schema": "urn:ietf:params:qlog:file:sequential",
           "serialization_format": "application/qlog+json-seq",
           "trace": {"common_fields": {"time_format": "relative_to_epoch", "reference_time": {
               "clock_type": "monotonic", "wall_clock_time": "2026-11-22T10:00:00.000000Z"}}}}
    yield event("connection_started", {"opened_by": "local", "local": {"ip": "192.0.2.1", "port": 4},
                                       "remote": {"ip": "2001:db8::1", "port": 7174}})
    offsets = {True: 0, False: 0}
    for sent, octets in frames_of_log:
        yield event("frame_sent" if sent else "frame_received", {
            "kind": "fpdu", "offset": offsets[sent],
            "raw": {"length": len(octets), "data": octets.hex()}})
        offsets[sent] += len(octets)
    stag = {"stag": "11223344", "to": "0000000000001000"}
    yield event("work_posted", {"queue": "send", "wr_id": "0000000000000007", "length": 64,
                                "opcode": "write", "flags": ["signaled", "fence"], **stag})
    yield event("posts_missed", {"queue": "receive", "count": 3})
    yield event("work_completed", {"queue": "receive", "wr_id": "0000000000000008", "length": 5,
                                   "status": "success", "opcode": "receive", "invalidated": "00a1b2c3"})
    yield event("work_completed", {"queue": "send", "wr_id": "0000000000000009", "status": "flushed"})
    yield event("memory_used", {"use": "write", "length": 64, **stag})
    yield event("memory_refused", {"use": "read_source", "length": 64, "why": "no_right", **stag})
    yield event("state_updated", {"machine": "queue_pair", "old": "Idle", "new": "RTS"})
    yield event("connection_closed", {"by": "remote", "how": "fin"})
    yield event("connection_ended", {})


def log_seeds(all_frames):
    named = {name: octets for some in all_frames.values() for name, _, octets in some}
    some = [(True, named["A"]), (False, named["B"]), (True, named["C"]), (False, named["D"])]
    whole = [b"\x1e" + json.dumps(record).encode() + b"\n" for record in log_records(some)]
    yield "explain", "log", b"\xfe\xff" + b"".join(whole)
    yield "explain", "log-cut", b"\xfe\x10" + b"".join(whole)[:-40]
    yield "explain", "log-of-another", b"\xfe\x07" + whole[0] + (
        b'\x1e{"time":1,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT"}}}\n')
    yield "explain", "log-deep", b"\xfe\xff" + b"\x1e" + b"[" * 200 + b"]" * 200 + b"\n" + whole[1]


def checked(octets, size):
    """Pads the octets to `size`, and ends them with a CRC32c over all octets before it."""
    octets = octets.ljust(size - 4, b"\0")
    return octets + struct.pack(">I", crc32c(octets))


def side_messages():
    """Yields messages by kind, in the order in which the target numbers the kinds."""
    numbers = struct.pack(">III", 77, 0x800001, 1)
    yield 0, "sidr-request", checked(b"iWMQ\1\1\0\5" + numbers + b"hello", 256)
    yield 0, "sidr-reply", checked(b"iWMQ\1\2\1\0" + numbers, 256)
    yield 1, "out-of-band", b"iwarpoob" + struct.pack(">IIII", 1, 2, 3, 4)
    for flags in (0, 1, 2, 3):
        table = struct.pack(">QII", 4096, 5, 2) + struct.pack(">QII", 8192, 6, 65536)
        yield 2, f"rsockets-{flags}", struct.pack(">BBHBBBB", 1, flags, 64, 0, 0, 0, 131) + table
    yield 3, "tables", bytes(range(24))
    bodies = {1: b"\0\4name", 2: bytes(8) + b"\0\4name", 3: bytes(8), 4: bytes(8 + 16),
              5: bytes(8), 6: bytes(32), 7: bytes(32), 8: b"\0\3why"}
    for kind, body in bodies.items():
        yield 4, f"files-{kind}", b"iWFT\1" + struct.pack(">BH", kind, len(body)) + body
    yield 5, "metrics", b"GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n\r\n"
    yield 5, "metrics-head", b"HEAD / HTTP/1.0\r\nHost: elsewhere.example\r\n\r\n"
    for version, address in ((4, bytes((192, 0, 2, 1))), (6, bytes(range(16)))):
        for kind in (0, 7):
            header = struct.pack(">IBBBBI", 0x55555555, version, kind, 12 + len(address), 0, 0x123456)
            yield 6, f"datagram-udp-{version}-{kind}", header + address + b"hello"
        flow = bytes(4) if version == 6 else b""
        header = struct.pack(">BBH", version, 4 + len(flow + address), 4242)
        yield 6, f"datagram-qp-{version}", header + flow + address + b"hello"


def json_seeds():
    """Yields changes to valid texts, and also some complete texts."""
    changes = {
        0: ({"size": 1, "depth": 1, "qps": 8}, {"waiting": "poll", "check": True},
            {"test": "read-lat"}, {"connection": {"crc": "off", "fpdu": "max"}},
            {"counted": {"messages": 9, "cpus": "same"}}, {"duration_ms": -1}, {"size": 1e300},
            {"connection": None}),
        1: ({"mode": "iwarp", "size": 4096}, {"sender": {"cpu_ns": 7}}, {"seconds": "1"}),
        2: ({"name": "here"}, {"title": "\x1b[2J"}, {"link_rate": {"value": -1}}),
    }
    for kind, group in changes.items():
        for number, change in enumerate(group):
            text = json.dumps(change).encode()
            yield "json", f"changes-{kind}-{number}", bytes([0x80 | kind]) + text
        for number, text in enumerate((b"{}", b"[]", b"[" * 300, b'{"a":1e999}', b"\xff")):
            yield "json", f"text-{kind}-{number}", bytes([kind]) + text


def text_seeds():
    yield "settings", "all", "\n".join((
        "IWARP_AS=roce", "IWARP_CRC=off", "IWARP_MPA_REV=2-only", "IWARP_RTR=read",
        "IWARP_FPDU=1500", "IWARP_FIRST_FPDU_DELAY=100", "IWARP_GATHER_DELAY=50",
        "IWARP_RECEIVE_HOLD=1000", "IWARP_PORT_RANGE=20000-20999", "IWARP_PORT_OFFSET=1000",
        "IWARP_OOB=loopback", "IWARP_FAULT_SEED=7", "IWARP_LOG=debug")).encode()
    yield "settings", "wrong", b"IWARP_PORT_RANGE=9-1\nIWARP_CRC=maybe\nIWARP_GATHER_DELAY=-1"
    yield "fault_plan", "all", "\n".join((
        "# all sorts", "seed 7", "after 3 completions qp any status WR_FLUSH_ERR",
        "every 10 sends qp 2 error", "from 5 to 9 registrations fail ENOMEM",
        "after 200ms port down 50ms", "chance 0.1% datagrams qp each delay 3ms",
        "after 65536 octets connection 1 reset", "now remove device")).encode()
    for name in ("file", "folder", "link", "up", "fifo", ".hidden", "../outside", "link/../file",
                 "up/outside", "a" * 256, "\x1b[2J", ""):
        yield "file_name", f"name-{len(name)}-{name[:1].encode().hex()}", name.encode()


def netlink_seeds():
    """Requests for devices (1), ports (5) and the system (6), and those that add (3) and remove (4) a device."""
    def attribute(number, octets):
        return struct.pack("=HH", 4 + len(octets), number) + octets + bytes(-len(octets) % 4)

    def request(command, flags, *attributes, client=5):
        octets = b"".join(attributes)
        return struct.pack("=IHHII", 16 + len(octets), client << 10 | command, flags, 7, 0) + octets

    index, port = attribute(1, struct.pack("=I", 1)), attribute(3, struct.pack("=I", 1))
    added = attribute(2, b"rxe0\0"), attribute(65, b"rxe\0"), attribute(51, b"eth0\0")
    for name, octets in (("devices", request(1, 0x301)), ("device", request(1, 5, index)),
                         ("port", request(5, 5, index, port)), ("ports", request(5, 0x301, index)),
                         ("system", request(6, 1)), ("add", request(3, 5, *added)), ("remove", request(4, 5, index)),
                         ("several", request(1, 0x305) + request(7, 5) + request(6, 0x301) + request(1, 1)),
                         ("others", request(9, 0x301) + request(0, 5, client=2) + request(2, 4))):
        yield "netlink", name, octets


def seeds(vectors):
    yield from netlink_seeds()
    yield from datagram_seeds()
    yield from stream_seeds()
    yield from text_seeds()
    for kind, name, octets in side_messages():
        yield "side_messages", name, bytes([kind]) + octets
    yield from json_seeds()
    yield from capture_seeds(vectors)
    all_frames = {name: frames(vectors / f"{name}.hex") for name in FILES}
    yield from log_seeds(all_frames)
    fpdus = [f for name in FILES[1:4] for f in all_frames[name]]
    for name, _, octets in [f for some in all_frames.values() for f in some]:
        yield "describe", name, octets
    for name, _, octets in fpdus:
        yield "describe", f"ulpdu-{name}", ulpdu(octets)
    for name, _, octets in all_frames["startup"]:
        for role in (0, 1):
            for bits in (0x02, 0x12, 0x03, 0x82):
                options = bytes([role, bits, 7, 4, 4, 3])
                yield "startup", f"{name}-{role}-{bits:02x}", options + octets
            options = bytes([role, 0x02, 0x1F, 5, 4, 3])
            length = len(octets) - 12  # PD_Length, increased by 8 for the tag
            tag = b"RFC 7306" if octets[7:10] == b"Req" else b"7306 too"
            tagged = octets[:18] + struct.pack(">H", length) + octets[20:] + tag
            yield "startup", f"{name}-{role}-tagged", options + tagged
    stream = b"".join(octets for _, _, octets in fpdus)
    for bits in (0x00, 0x02, 0x08, 0x0A, 0x18, 0x24):
        yield "deframer", f"stream-{bits:02x}", bytes([bits, 3]) + stream
    for name, position, octets in all_frames["marked"]:
        if position == "0":
            for bits in (0x03, 0x0B, 0x0F):
                yield "deframer", f"marked-{name}-{bits:02x}", bytes([bits, 40]) + octets
    posted = bytes([0xFD, 8]) * 4  # the stream target posts receives for these octets
    for name, group in segments().items():
        body = b"".join(op(0, s) + bytes([0x33, 0, 64]) for s in group)
        yield "stream", name, bytes([0x0F]) + bytes([0x04, 1, 64]) + b"\x13\x01\x00" + posted + body
        body = b"".join(framed(s) + bytes([3, 8, 0]) for s in group)
        work = bytes([4, 0, 0, 200, 4, 1, 0, 100, 5, 2, 0, 64, 5, 0, 0, 30, 3, 8, 0])
        for bits in (0x00, 0x01, 0x08, 0x09, 0x19, 0x89, 0x81):
            yield "connection", f"{name}-{bits:02x}", bytes([bits, 40, 60]) + work + body
    yield from extension_seeds(posted)
    yield from large_payloads()
    for name, _, octets in fpdus:
        yield "stream", f"frame-{name}", bytes([0x0F]) + posted + op(0, ulpdu(octets))
        yield "stream", f"agreed-frame-{name}", bytes([0x8F]) + posted + op(0, ulpdu(octets))
        yield "connection", f"frame-{name}", bytes([9, 40, 60, 4, 0, 0, 200]) + framed(ulpdu(octets))
    for name, _, octets in all_frames["startup"]:
        for bits in (0x0A, 0x0B, 0x2A, 0x6B):
            yield "connection", f"{name}-{bits:02x}", bytes([bits, 4, 90]) + op(0, octets) + bytes([3, 8, 0])


def main():
    vectors, out = map(pathlib.Path, sys.argv[1:3])
    for target, name, octets in seeds(vectors):
        path = out / target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets)
    for path in (pathlib.Path(__file__).parent / "regressions").glob("*/*.hex"):
        lines = [line.split("#")[0] for line in path.read_text().splitlines()]
        (out / path.parent.name / path.stem).write_bytes(bytes.fromhex("".join(lines)))


if __name__ == "__main__":
    main()
