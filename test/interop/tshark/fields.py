# SPDX-License-Identifier: Apache-2.0
"""Compares, field by field, how tshark and the command `iwarp explain` decode the same capture. TABLE pairs the fields
that both programs decode. The lists after TABLE name the fields that only one of the programs decodes. KNOWN contains
the differences, and rfc-notes/wireshark.md says which program is right in each of them. A field that is in none of
these tables is a finding."""
import json
import re
import subprocess
import xml.etree.ElementTree

# Pairs tshark's names of fields with those of explain. A group begins with tshark's prefix and explain's layer.
GROUPS = """
iwarp_mpa mpa:
    key.req = Key; key.rep = Key; marker_flag = M; crc_flag = C; rej_flag = R; res = Res; rev = Rev;
    pdlength = PD_Length; ulpdulength = ULPDU_Length; pad = PAD; crc = CRC; crc_check = CRC
iwarp_mpa ulp:
    privatedata = Private data
iwarp_mpa marker:
    marker_res = Marker, reserved; marker_fpduptr = FPDUPTR
iwarp_ddp ddp:
    tagged_flag = T; last_flag = L; rsvd = Rsvd; dv = DV; stag = STag; tagged_offset = TO; qn = QN; msn = MSN; mo = MO
iwarp_rdma rdmap:
    version = RV; rsv = Rsv; opcode = Opcode; reserved = Invalidate STag (unused); inval_stag = Invalidate STag;
    sinkstag = Data Sink STag; sinkto = Data Sink Tagged Offset; rdmardsz = RDMA Read Message Size;
    srcstag = Data Source STag; srcto = Data Source Tagged Offset; term_layer = Layer; term_etype_rdma = EType;
    term_etype_ddp = EType; term_etype_llp = EType; term_etype = EType; term_errcode_rdma = Error Code;
    term_errcode_ddp_tagged = Error Code; term_errcode_ddp_untagged = Error Code; term_errcode_llp = Error Code;
    term_errcode = Error Code; term_rsvd = Reserved; term_ddp_seg_len = DDP Segment Length;
    term_ddp_h = Terminated DDP Header; term_rdma_h = Terminated RDMA Header; atomic.reserved = Reserved;
    atomic.opcode = AOpCode; atomic.request_identifier = Request Identifier; atomic.remote_stag = Remote STag;
    atomic.remote_tagged_offset = Remote Tagged Offset; atomic.add_data = Add or Swap Data;
    atomic.add_mask = Add or Swap Mask; atomic.swap_data = Add or Swap Data; atomic.swap_mask = Add or Swap Mask;
    atomic.compare_data = Compare Data; atomic.compare_mask = Compare Mask;
    atomic.original_request_identifier = Original Request Identifier;
    atomic.original_remote_data_value = Original Remote Data Value
"""
# Maps tshark's name of a field to the layer and the name that explain uses.
TABLE = {f"{prefix}.{theirs}": (layer, ours)
         for prefix, layer, pairs in re.findall(r"(?ms)^(\w+) (\w+):\n(.*?)(?=^\w|\Z)", GROUPS)
         for theirs, ours in (pair.split(" = ") for pair in " ".join(pairs.split()).split("; "))}

# Branches of tshark's tree. They have no value of their own.
BRANCHES = {
    "iwarp_mpa.req", "iwarp_mpa.rep", "iwarp_mpa.fpdu", "iwarp_mpa.markers", "iwarp_ddp",
    "iwarp_ddp.control_field", "iwarp_ddp.tagged", "iwarp_ddp.untagged", "iwarp_rdma",
    "iwarp_rdma.control_field", "iwarp_rdma.rr", "iwarp_rdma.terminate", "iwarp_rdma.term_ctrl",
    "iwarp_rdma.term_hdrct"}


# Fields that only tshark has. Each value says why `iwarp explain` does not have the field.
TSHARK_ALONE = {
    "iwarp_ddp.rsvdulp": "explain shows these octets in RDMAP, as control field and Invalidate STag",
    "iwarp_rdma.term_hdrct_m": "explain shows the three bits as one field",
    "iwarp_rdma.hdrct_d": "explain shows the three bits as one field",
    "iwarp_rdma.hdrct_r": "explain shows the three bits as one field",
    "iwarp_mpa.rev.not_set1": "a warning: tshark 4.0 supports only RFC 5044",
    "iwarp_mpa.res.not_set0": "a warning: tshark 4.0 supports only RFC 5044",
    "iwarp_mpa.reject_bit_responder": "a warning about a Reply that rejects the connection",
}

# Fields of explain that tshark 4.0 does not decode.
EXPLAIN_ALONE = {
    ("mpa", "S"): "RFC 6581; a part of tshark's reserved bits",
    **{("mpa", name): "RFC 6581; a part of tshark's private data" for name in ("A", "B", "IRD", "C (RTR)", "D", "ORD")},
    ("ulp", "Extensions tag"): "a part of tshark's private data",
    ("ulp", "Payload"): "tshark passes it to other dissectors, or does not decode it",
    ("rdmap", "M, D, R"): "tshark has three fields",
    ("rdmap", "Immediate Data"): "tshark shows it as payload",
}


class Tshark:
    """The frames of a capture as tshark decodes them: {packet: [[(name, number, size), ...], ...]}."""

    # Disables a dissector that would treat short Sends as NFS over RDMA.
    COMMAND = ("tshark", "--disable-protocol", "rpcordma", "-T", "pdml", "-r")

    def __init__(self, path):
        said = subprocess.run([*self.COMMAND, str(path)], check=True, timeout=120,
                              capture_output=True, text=True).stdout
        self.packets = {}
        for packet in xml.etree.ElementTree.fromstring(said).iter("packet"):
            number = int(packet.find("proto[@name='frame']/field[@name='frame.number']").get("show"))
            frames = []
            for proto in packet:
                if proto.get("name") == "iwarp_mpa":
                    frames += self.of_mpa(proto)
                elif proto.get("name") == "iwarp_ddp_rdmap" and frames:
                    self.open_ddp(frames).extend(self.leaves(proto))
            if frames:
                self.packets[number] = frames

    @staticmethod
    def leaves(node):
        for field in node.iter("field"):
            name = field.get("name")
            if name.startswith("iwarp_") and name not in BRANCHES:
                yield name, int(field.get("value") or "0", 16), int(field.get("size"))

    def of_mpa(self, proto):
        """Returns a frame for each FPDU, Request and Reply. tshark shows markers in separate trees, whose fields are
        added to the last frame."""
        trees = [t for t in proto if t.get("name") in ("iwarp_mpa.fpdu", "iwarp_mpa.req", "iwarp_mpa.rep")]
        frames = [list(self.leaves(tree)) for tree in trees]
        for markers in proto:
            if markers.get("name") == "iwarp_mpa.markers" and frames:
                frames[-1] += self.leaves(markers)
        return frames

    @staticmethod
    def open_ddp(frames):
        """Returns the first FPDU that does not have a DDP header yet."""
        for frame in frames:
            names = [name for name, _, _ in frame]
            if "iwarp_mpa.ulpdulength" in names and "iwarp_ddp.tagged_flag" not in names:
                return frame
        return frames[-1]


class Explain:
    """The same frames as `iwarp explain` decodes them. A field has a layer and a name. A frame has its JSON record."""

    def __init__(self, iwarp, path):
        said = subprocess.run([iwarp, "explain", "--json", "-vv", str(path)], check=True,
                              timeout=120, capture_output=True, text=True).stdout
        self.packets, table = {}, []
        for line in said.splitlines():
            record = json.loads(line)
            if record["type"] == "fields":
                table = [(row["layer"], row["name"]) for row in record["fields"]]
            elif record["type"] == "frame":
                fields = [(table[row], value, ranges, bits) for row, value, ranges, *bits in record["fields"]]
                self.packets.setdefault(record["packet"], []).append((record, fields))

    @staticmethod
    def number(record, field):
        """Returns the value of the octets and bits that `iwarp explain` reports as the location of the field."""
        _, _, ranges, bits = field
        octets = bytes.fromhex(record["octets"])
        raw = b"".join(octets[a:a + n] for a, n in zip(ranges[::2], ranges[1::2]))
        number = int.from_bytes(raw, "big")
        if bits:
            first, count = bits
            number = number >> (8 * len(raw) - first - count) & (1 << count) - 1
        return number, len(raw)

    @staticmethod
    def shown(field):
        """Returns the number in the text of the field, or None if the text has no number."""
        match = re.match(r"(0x[0-9a-f]+|\d+)(?![\w.])(?! octet)", field[1])
        return int(match[1], 0) if match else None


def compare_frame(theirs, record, ours):
    """Returns the findings of one frame, and the number of fields that agree."""
    findings, agreed, left = [], 0, list(ours)
    for name, number, size in theirs:
        if name in TSHARK_ALONE:
            continue
        if name not in TABLE:
            findings.append(f"tshark's {name} is in no table")
            continue
        field = next((f for f in left if f[0] == TABLE[name]), None)
        if field is None:
            if not known(name, number, None, record):
                findings.append(f"tshark's {name} = {number:#x}: explain has no {TABLE[name]}")
            continue
        left.remove(field)
        mine, octets = Explain.number(record, field)
        shown = Explain.shown(field)
        if known(name, number, field, record):
            continue
        if mine != number or (not field[3] and octets != size):
            findings.append(f"{name}: tshark {number:#x} ({size} octets), explain {mine:#x} ({octets})")
        elif shown is not None and shown != number and TABLE[name] != ("mpa", "CRC"):
            findings.append(f"{name}: tshark {number:#x}, explain shows {field[1]}")
        else:
            agreed += 1
    for field in left:
        if field[0] not in EXPLAIN_ALONE and not known(None, None, field, record):
            findings.append(f"explain's {field[0]} = {field[1]}: tshark has none")
    return findings, agreed


def known(name, number, field, record):
    """Returns whether rfc-notes/wireshark.md lists this difference. `name` is None if only explain has the field.
    `field` is None if only tshark has it."""
    return any(rule(name, number, field, record) for rule in KNOWN)


def reserved_bit_s(name, number, field, record):
    """tshark 4.0 does not know RFC 6581. Its reserved field has five bits, the first of which is the S bit."""
    if name != "iwarp_mpa.res" or record["mpa"]["revision"] != 2 or field is None:
        return False
    return number & 0xF == Explain.number(record, field)[0]


def private_data(name, number, _field, record):
    """tshark 4.0 shows everything after the fixed header as private data. explain separates IRD, ORD and the tag of
    RFC 7306."""
    private = bytes.fromhex(record["octets"])[20:]
    return name == "iwarp_mpa.privatedata" and number == int.from_bytes(private, "big")


def terminated_headers(name, number, field, record):
    """tshark 4.0 assumes that the DDP header in a Terminate has 14 octets. An untagged DDP header has 18."""
    if field is None or name not in ("iwarp_rdma.term_ddp_h", "iwarp_rdma.term_rdma_h"):
        return False
    mine, octets = Explain.number(record, field)
    if name == "iwarp_rdma.term_ddp_h":
        return octets == 18 and number == mine >> 32
    return octets == 28 and number & (1 << 192) - 1 == mine >> 32


def swapped_terminate(name, _number, field, record):
    """siw on little-endian hosts swaps Layer and EType, and reverses the bits after them. explain reports this
    (RDMAP-15) and still finds the echoed headers. tshark relies on the wrong bits."""
    echoes = (("rdmap", "DDP Segment Length"), ("rdmap", "Terminated DDP Header"),
              ("rdmap", "Terminated RDMA Header"))
    rules = [violation["rule"] for violation in record.get("violations", ())]
    return name is None and field[0] in echoes and "RDMAP-15" in rules


def reserved_behind_control(name, _number, field, record):
    """Immediates and atomics do not use the 32 bits of the field Invalidate STag. tshark 4.0 shows these bits only
    for other messages."""
    return (name is None and field[0] == ("rdmap", "Invalidate STag (unused)") and record["rdmap"]["opcode"] >= 8)


def pad_behind_markers(name, _number, field, record):
    """tshark 4.0 looks for the PAD of a marked FPDU without removing the markers, and therefore at the wrong place."""
    if name != "iwarp_mpa.pad" or field is None or "position" not in record["mpa"]:
        return False
    return Explain.number(record, field)[0] == 0


KNOWN = [pad_behind_markers, private_data, reserved_behind_control, reserved_bit_s,
         swapped_terminate, terminated_headers]


def pairs(theirs, ours):
    """Returns pairs of frames of a packet, or None if the two programs found different numbers of frames."""
    # If only one direction has markers, tshark 4.0 does not dissect the other direction.
    if not theirs and all(record["kind"] == "fpdu" and "position" not in record["mpa"] for record, _ in ours):
        return []
    if len(theirs) != len(ours):
        return None
    return [(their_fields, record, our_fields) for their_fields, (record, our_fields) in zip(theirs, ours)]
