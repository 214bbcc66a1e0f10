# SPDX-License-Identifier: Apache-2.0
"""Makes synthetic captures of MPA connections: Ethernet, IPv4, TCP, startup frames and FPDUs."""
import struct

NEAR, FAR = (bytes([192, 0, 2, 1]), 40000), (bytes([192, 0, 2, 2]), 7174)
FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def records(capture):
    """Returns the packets of a pcap file, each with its record header."""
    at = len(FILE_HEADER)
    while at < len(capture):
        size = struct.unpack_from("<I", capture, at + 8)[0]
        yield capture[at:at + 16 + size]
        at += 16 + size


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(source, target, seq, payload, at, ack=0, flags=0x18):
    """Returns a packet record of a capture. The packet was captured `at` milliseconds after the beginning."""
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq, ack, 5 << 4, flags, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + len(payload), 0, 0x4000, 64, 6, 0)
    octets = bytes(12) + b"\x08\x00" + ip + source[0] + target[0] + tcp + payload
    return struct.pack("<4I", 1700000000 + at // 1000, at % 1000 * 1000, len(octets), len(octets)) + octets


def send_frame(msn, payload):
    """Returns an FPDU with a Send of one segment. Its CRC field is 0."""
    ulpdu = b"\x41\x43" + struct.pack(">4I", 0, 0, msn, 0) + payload
    pad = -(2 + len(ulpdu)) % 4
    return struct.pack(">H", len(ulpdu)) + ulpdu + bytes(pad + 4)


def sends(payloads, private_data=b""):
    """Returns a capture in which the initiator sends the payloads as Sends, one per millisecond."""
    length = struct.pack(">H", len(private_data))
    request = b"MPA ID Req Frame\x00\x01" + length + private_data
    reply = b"MPA ID Rep Frame\x00\x01\x00\x00"
    packets = [FILE_HEADER, packet(NEAR, FAR, 1, request, 0), packet(FAR, NEAR, 1, reply, 1)]
    seq = 1 + len(request)
    for i, payload in enumerate(payloads):
        frame = send_frame(i + 1, payload)
        packets.append(packet(NEAR, FAR, seq, frame, 2 + i))
        seq += len(frame)
    return b"".join(packets)
