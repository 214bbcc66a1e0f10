# SPDX-License-Identifier: Apache-2.0
"""Faults that are built into a copy of the sources, each with its own switch, and the conformance cases that must
find each fault. make_sources.py applies the edits, and test_faults.py runs the cases.

A fault is one wrong statement, of a kind that occurred in real implementations: a missing check, a value that is
off by a little, a wrong error code. The text that a fault replaces must occur exactly once in its file."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    id: str
    file: str
    old: str
    new: str  # BROKEN stands for the condition that is true if this fault is switched on
    cases: tuple  # all of these cases must fail
    role: str = "responder"  # role of the peer that has the fault
    options: tuple = ()  # command line options of the peer that has the fault


DEFRAMER, FRAMER = "mpa/src/deframer.cpp", "mpa/src/framer.cpp"
STARTUP, STARTUP_FRAME = "mpa/src/startup.cpp", "mpa/src/startup_frame.cpp"
RECEIVER = "ddp/internal/iwarp/ddp/receiver.hpp"
INBOUND, STREAM = "rdmap/src/inbound.cpp", "rdmap/src/stream.cpp"
TERMINATE = "rdmap/src/terminate.cpp"
MEMORY, CONNECTION = "verbs/src/regions/memory.cpp", "verbs/src/connection/connection.cpp"

FAULTS = (
    # MPA: FPDUs
    Fault("crc-unchecked", DEFRAMER,
          "if (crc32c::compute({first, covered}) != load_crc(first + covered)) return",
          "if (!BROKEN && crc32c::compute({first, covered}) != load_crc(first + covered)) return",
          ("mpa/crc/wrong-field", "mpa/crc/flipped-payload")),
    Fault("crc-not-sent", FRAMER,
          "value = crc32c::compute(whole.first(covered));",
          "value = BROKEN ? 0 : crc32c::compute(whole.first(covered));",
          ("mpa/crc/own-right",)),
    Fault("pad-not-zero", FRAMER,
          "constexpr std::array<std::byte, kCrcSize> kZeros{};",
          "const std::array<std::byte, kCrcSize> kZeros{BROKEN ? std::byte{0x5A} : std::byte{0}};",
          ("mpa/fpdu/own-pad",)),
    Fault("marker-off-by-four", FRAMER,
          "fpdu_begun_ ? position_ - fpdu_start_ : 0)",
          "fpdu_begun_ ? position_ - fpdu_start_ + (BROKEN ? 4 : 0) : 0)",
          ("mpa/marker/own-pointers", "mpa/marker/own-several")),
    Fault("marker-unchecked", DEFRAMER,
          "if (((fpduptr ^ fpdu_.fpduptr(i)) & 0xFFFC) != 0) return false;",
          "if (!BROKEN && ((fpduptr ^ fpdu_.fpduptr(i)) & 0xFFFC) != 0) return false;",
          ("mpa/marker/wrong-pointer",), options=("--markers",)),
    Fault("fpduptr-not-masked", DEFRAMER,
          "fpdu_.fpduptr(i)) & 0xFFFC) != 0) return false;",
          "fpdu_.fpduptr(i)) & (BROKEN ? 0xFFFF : 0xFFFC)) != 0) return false;",
          ("mpa/marker/low-bits-masked",), options=("--markers",)),

    # MPA: startup
    Fault("startup-revision-unchecked", STARTUP,
          "  if (frame.revision == 0 || frame.revision > options_.revision) {\n    return fail("
          "StartupEvent::kMalformedFrame, kWrongRevision);\n  }\n  // With the option",
          "  if (!BROKEN && (frame.revision == 0 || frame.revision > options_.revision)) {\n    return fail("
          "StartupEvent::kMalformedFrame, kWrongRevision);\n  }\n  // With the option",
          ("mpa/request/revision-3",)),
    Fault("startup-key-unchecked", STARTUP_FRAME,
          "if (matching_key_octets(expected, in) < std::min(in.size(), kKeySize)) {",
          "if (!BROKEN && matching_key_octets(expected, in) < std::min(in.size(), kKeySize)) {",
          ("mpa/request/key-last-octet",)),
    Fault("markers-flag-echoed", STARTUP,
          ".markers = options_.markers,\n         .crc = negotiated_.crc,\n         .enhanced = offer_->enhanced,",
          ".markers = BROKEN ? offer_->markers : options_.markers,\n"
          "         .crc = negotiated_.crc,\n         .enhanced = offer_->enhanced,",
          ("mpa/startup/markers-demanded",)),
    Fault("early-octets-taken", STARTUP,
          "if (!octets.empty()) fail(StartupEvent::kEarlyOctets",
          "if (!octets.empty() && !BROKEN) fail(StartupEvent::kEarlyOctets",
          ("mpa/request/more-than-said",)),
    Fault("reject-ignored", STARTUP,
          "if (frame.rejected) {\n    enter(StartupEvent::kRejectReply);",
          "if (frame.rejected && !BROKEN) {\n    enter(StartupEvent::kRejectReply);",
          ("mpa/initiator/rejected",), role="initiator"),
    Fault("ord-above-our-ird", STARTUP,
          "    negotiated_.ord = std::min(negotiated_.ord, offer_->ird);\n    if (word.rtr_read)",
          "    if (!BROKEN) negotiated_.ord = std::min(negotiated_.ord, offer_->ird);\n    if (word.rtr_read)",
          ("mpa/depth/our-ird-1",)),
    Fault("rtr-not-sent", CONNECTION,
          "if (n.rtr != mpa::Rtr::kNone) full_->",
          "if (n.rtr != mpa::Rtr::kNone && !BROKEN) full_->",
          ("mpa/rtr/sends-write",), role="initiator", options=("--rtr=write",)),

    # DDP
    Fault("ddp-version-unchecked", RECEIVER,
          "if (h.version != kDdpVersion) return latch(kUntaggedVersion);",
          "if (h.version != kDdpVersion && !BROKEN) return latch(kUntaggedVersion);",
          ("ddp/untagged/version-2",)),
    Fault("queue-number-unchecked", RECEIVER,
          "if (h.qn >= kQueues) return latch(kUntaggedQn);",
          "if (h.qn >= kQueues && !BROKEN) return latch(kUntaggedQn);",
          ("ddp/untagged/queue-4",)),
    Fault("msn-unchecked", RECEIVER,
          "if (h.msn != queue.expected) return",
          "if (h.msn != queue.expected && !BROKEN) return",
          ("ddp/untagged/msn-repeated",)),
    Fault("mo-unchecked", RECEIVER,
          "if (h.mo != queue.next_mo) return",
          "if (h.mo != queue.next_mo && !BROKEN) return",
          ("ddp/untagged/mo-gap",)),
    Fault("too-long-code", RECEIVER,
          ": kUntaggedTooLong);",
          ": BROKEN ? kUntaggedNoBuffer : kUntaggedTooLong);",
          ("ddp/untagged/too-long",)),
    Fault("zero-length-checked", RECEIVER,
          "if (current_.length == 0) return {};",
          "if (current_.length == 0 && !BROKEN) return {};",
          ("ddp/empty/wrong-stag",)),
    Fault("last-flag-on-every-segment", STREAM,
          "  const auto& segment = transmitter_.next(mulpdu);\n  out.header_size",
          "  auto segment = transmitter_.next(mulpdu);\n  if (BROKEN) segment.header.last = true;\n  out.header_size",
          ("ddp/tagged/own-segments",)),
    Fault("msn-from-zero", STREAM,
          "  if (header_only_size(request_.opcode) != 0) {\n",
          "  if (BROKEN) {\n    auto header = segment.header;\n    --header.msn.value;\n"
          "    ddp::encode(header, out.header.data());\n  }\n"
          "  if (header_only_size(request_.opcode) != 0) {\n",
          ("rdmap/operations/own-sends",)),

    # RDMAP
    Fault("rdmap-version-unchecked", INBOUND,
          "if ((h.rsvd_ulp & kVersionMask) != kVersion) [[",
          "if ((h.rsvd_ulp & kVersionMask) != kVersion && !BROKEN) [[",
          ("rdmap/version/send-2",)),
    Fault("queue-of-opcode-unchecked", INBOUND,
          "if (row.tagged != h.tagged || row.qn != h.qn) [[",
          "if (row.tagged != h.tagged || (row.qn != h.qn && !BROKEN)) [[",
          ("rdmap/opcode/send-on-queue-1",)),
    Fault("response-stag-unchecked", INBOUND,
          "if (h.stag != read.sink_stag) return",
          "if (h.stag != read.sink_stag && !BROKEN) return",
          ("rdmap/response/other-stag",)),
    Fault("unended-response-unchecked", INBOUND,
          "if (length > read.length - read.received) return fault(ddp::kTaggedBounds);",
          "if (length > read.length - read.received) {\n"
          "    if (h.last || !BROKEN) return fault(ddp::kTaggedBounds);\n"
          "    target.push_back(read.sink.first(length));  // somewhere: the case sends no more than that\n"
          "    return {};\n  }",
          ("rdmap/response/too-long-unended",)),
    Fault("invalidate-ignored", INBOUND,
          ".invalidate = row.invalidates,",
          ".invalidate = row.invalidates && !BROKEN,",
          ("rdmap/send/invalidate-unknown",)),
    Fault("terminate-answered", INBOUND,
          "  peer_ = *terminate;\n",
          "  if (BROKEN) return fault(kStreamCatastrophic);\n  peer_ = *terminate;\n",
          ("rdmap/terminated/minimal",)),
    Fault("response-to-another-place", STREAM,
          "                      .to = r.sink_to,",
          "                      .to = {r.sink_to.value + (BROKEN ? 4U : 0U)},",
          ("rdmap/read/sink-copied",)),
    Fault("ird-smaller-than-agreed", STREAM,
          "inbound_(options.ird),",
          "inbound_(BROKEN ? 1 : options.ird),",
          ("rdmap/read/as-agreed",)),
    Fault("terminate-layout-of-siw", TERMINATE,
          "  out.u8(static_cast<std::uint8_t>((static_cast<unsigned>(t.fault.layer) << 4) | "
          "t.fault.type));",
          "  if (BROKEN) {\n"
          "    out.u8(static_cast<std::uint8_t>((unsigned{t.fault.type} << 4) |\n"
          "                                     static_cast<unsigned>(t.fault.layer)));\n"
          "    flags = static_cast<std::uint8_t>((flags >> 7) | (flags >> 5 & 2) | (flags >> 3 & 4));\n"
          "  } else {\n"
          "    out.u8(static_cast<std::uint8_t>((static_cast<unsigned>(t.fault.layer) << 4) | t.fault.type));\n  }",
          ("rdmap/terminate/control-word",)),
    Fault("terminate-without-segment-length", TERMINATE,
          "    flags = kLengthValid;\n",
          "    flags = BROKEN ? 0 : kLengthValid;\n",
          ("rdmap/terminate/brings-write",)),

    # Memory
    Fault("stag-key-unchecked", MEMORY,
          "region->stag.load() != stag.value) {",
          "(region->stag.load() != stag.value && !BROKEN)) {",
          ("ddp/stag/wrong-key",)),
    Fault("bounds-off-by-one", MEMORY,
          "length > r.length - offset) {\n    return let_go(r, AccessError::kOutOfBounds",
          "length > r.length - offset + (BROKEN ? 1 : 0)) {\n    return let_go(r, AccessError::kOutOfBounds",
          ("ddp/bounds/one-past-end",)),
)
