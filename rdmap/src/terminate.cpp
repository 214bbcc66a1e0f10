// SPDX-License-Identifier: Apache-2.0
// Codec of the Terminate message, and the rules for the headers that it echoes (RFC 5040 sections
// 4.8 and 7.1).
#include "iwarp/rdmap/terminate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::rdmap {
namespace {

using bytes::Fault;
using bytes::Layer;

constexpr std::uint8_t kLengthValid = 0x80;   // M
constexpr std::uint8_t kDdpIncluded = 0x40;   // D
constexpr std::uint8_t kRdmaIncluded = 0x20;  // R
constexpr std::uint8_t kAnyCode = 0xFE;       // marks a row that applies to all codes of a type

// Every triplet that RFC 5040, 5041, 5044 and 6581 assign. [REG-1] [REG-2] [REG-3]
constexpr Fault kTriplets[] = {
    {Layer::kRdma, 0, kAnyCode, "local catastrophic error"},
    kInvalidStag,
    kBounds,
    kAccessRights,
    kNotAssociated,
    kWrap,
    kCannotInvalidate,
    {Layer::kRdma, 1, 0xFF, "unspecified protection error"},
    kVersionInvalid,
    kUnexpectedOpcode,
    kStreamCatastrophic,
    kGlobalCatastrophic,
    {Layer::kRdma, 2, 0x09, "STag cannot be invalidated"},
    kOperationUnspecified,
    ddp::kDdpCatastrophic,
    ddp::kTaggedInvalidStag,
    ddp::kTaggedBounds,
    ddp::kTaggedNotAssociated,
    ddp::kTaggedWrap,
    ddp::kTaggedVersion,
    ddp::kUntaggedQn,
    ddp::kUntaggedNoBuffer,
    ddp::kUntaggedMsnRange,
    ddp::kUntaggedMo,
    ddp::kUntaggedTooLong,
    ddp::kUntaggedVersion,
    {Layer::kDdp, 3, kAnyCode, "error of the layer below DDP"},
    {Layer::kMpa, 0, 0x01, "TCP connection closed or lost"},
    {Layer::kMpa, 0, 0x02, "CRC32c of the FPDU is wrong"},
    {Layer::kMpa, 0, 0x03, "marker and ULPDU_Length disagree"},
    {Layer::kMpa, 0, 0x04, "invalid MPA Request or Reply frame"},
    {Layer::kMpa, 0, 0x05, "local catastrophic error (connection set-up)"},
    {Layer::kMpa, 0, 0x06, "insufficient IRD resources"},
    {Layer::kMpa, 0, 0x07, "no matching RTR option"},
};

const Fault* find(Layer layer, std::uint8_t type, std::uint8_t code) {
  const auto* end = std::end(kTriplets);
  const auto* row = std::find_if(std::begin(kTriplets), end, [&](const Fault& f) {
    return f.layer == layer && f.type == type && (f.code == code || f.code == kAnyCode);
  });
  return row == end ? nullptr : row;
}

struct Control {
  Fault fault;
  std::uint8_t flags = 0;
};

Control read_control(std::uint8_t triplet, std::uint8_t code, std::uint8_t flags) {
  const auto layer = static_cast<Layer>(triplet >> 4);
  const auto type = static_cast<std::uint8_t>(triplet & 0x0F);
  return {.fault = {layer, type, code, explain(layer, type, code)}, .flags = flags};
}

// Converts nibbles and flag bits from siw's layout to the layout of RFC 5040, and decodes them.
Control read_swapped_control(std::uint8_t triplet, std::uint8_t code, std::uint8_t flags) {
  const auto swapped = static_cast<std::uint8_t>((triplet << 4) | (triplet >> 4));
  const auto turned = static_cast<std::uint8_t>(((flags & 1) != 0 ? kLengthValid : 0) |
                                                ((flags & 2) != 0 ? kDdpIncluded : 0) |
                                                ((flags & 4) != 0 ? kRdmaIncluded : 0));
  return read_control(swapped, code, turned);
}

// Returns whether the control word has siw's layout. In RFC 5040's layout the low 5 bits of the
// flag octet are zero, and siw never sets the upper 3 bits, so any flag that is set identifies the
// layout. If no flag is set, the layout is siw's only if the triplet is invalid in RFC 5040's
// layout and valid in siw's.
bool is_swapped(std::uint8_t triplet, std::uint8_t code, std::uint8_t flags) {
  if ((flags & 0xE0) != 0) return false;
  if ((flags & 0x07) != 0) return true;
  const auto plain = read_control(triplet, code, 0).fault;
  const auto swapped = read_swapped_control(triplet, code, 0).fault;
  return find(plain.layer, plain.type, code) == nullptr &&
         find(swapped.layer, swapped.type, code) != nullptr;
}

template <std::size_t N>
std::size_t copy_header(bytes::View from, std::array<std::byte, N>& to) {
  std::copy(from.begin(), from.end(), to.begin());
  return from.size();
}

TerminatedSegment read_segment(bytes::Reader& in, std::uint8_t flags) {
  TerminatedSegment s;
  s.segment_length = in.u16();
  if ((flags & kDdpIncluded) != 0 && in.remaining() > 0) {
    s.ddp_header_size = copy_header(in.take(ddp::header_size(in.rest())), s.ddp_header);
  }
  if ((flags & kRdmaIncluded) != 0) {
    s.rdma_header_size = copy_header(in.take(kReadRequestSize), s.rdma_header);
  }
  return s;
}

// Returns the DDP header that the peer echoed.
std::optional<ddp::SegmentHeader> echo(const Terminate& t) {
  if (!t.segment) return std::nullopt;
  const auto octets = bytes::View(t.segment->ddp_header).first(t.segment->ddp_header_size);
  const auto header = ddp::decode_segment_header(octets);
  return header ? std::optional(*header) : std::nullopt;
}

std::uint32_t payload_length(std::size_t segment, std::size_t header) {
  return static_cast<std::uint32_t>(segment - std::min(segment, header));
}

Subject::Kind kind_of(Opcode opcode, const Fault& fault) {
  switch (opcode) {
    case Opcode::kWrite:
      return Subject::Kind::kWrite;
    case Opcode::kReadRequest:
      return Subject::Kind::kRequest;
    case Opcode::kAtomicRequest:
      return fault.layer == Layer::kRdma ? Subject::Kind::kAtomic : Subject::Kind::kRequest;
    case Opcode::kSend:
    case Opcode::kSendInvalidate:
    case Opcode::kSendSolicited:
    case Opcode::kSendSolicitedInvalidate:
      return Subject::Kind::kSend;
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      return Subject::Kind::kImmediate;
    case Opcode::kReadResponse:
    case Opcode::kAtomicResponse:
    case Opcode::kTerminate:
      break;
  }
  return Subject::Kind::kUnknown;
}

Subject::Kind kind_by_model(const Fault& fault) {
  if (fault.type == ddp::kTaggedInvalidStag.type) return Subject::Kind::kWrite;
  if (fault.type == ddp::kUntaggedQn.type) return Subject::Kind::kSend;
  return Subject::Kind::kUnknown;
}

}  // namespace

const char* explain(Layer layer, std::uint8_t type, std::uint8_t code) {
  const Fault* row = find(layer, type, code);
  return row == nullptr ? "unknown error" : row->why;
}

std::vector<Fault> known_faults() {
  std::vector<Fault> out(std::begin(kTriplets), std::end(kTriplets));
  for (Fault& fault : out) {
    if (fault.code == kAnyCode) fault.code = 0;
  }
  return out;
}

Terminate make_terminate(const Fault& fault, const std::optional<TerminatedSegment>& segment) {
  Terminate t{.fault = fault, .segment = segment};
  // According to figure 10, RDMA local catastrophic errors and MPA errors echo no header. Only
  // protection errors echo an RDMA header, and only if the refused message is a Read Request.
  // [RDMAP-17]
  const bool local = fault.layer == Layer::kRdma && fault.type == 0;
  if (local || fault.layer == Layer::kMpa) t.segment.reset();
  if (t.segment && !is_protection_error(fault)) t.segment->rdma_header_size = 0;
  return t;
}

void encode(const Terminate& t, bytes::Writer& out) {
  std::uint8_t flags = 0;
  if (t.segment) {
    flags = kLengthValid;
    if (t.segment->ddp_header_size != 0) flags |= kDdpIncluded;
    if (t.segment->rdma_header_size != 0) flags |= kRdmaIncluded;
  }
  out.u8(static_cast<std::uint8_t>((static_cast<unsigned>(t.fault.layer) << 4) | t.fault.type));
  out.u8(t.fault.code);
  out.u8(flags);
  out.u8(0);  // Thirteen reserved bits are zero. [RDMAP-15] [RDMAP-18]
  if (!t.segment) return;
  out.u16(t.segment->segment_length);                                               // [RDMAP-19]
  out.put(bytes::View(t.segment->ddp_header).first(t.segment->ddp_header_size));    // [RDMAP-20]
  out.put(bytes::View(t.segment->rdma_header).first(t.segment->rdma_header_size));  // [RDMAP-21]
}

std::optional<Terminate> decode_terminate(bytes::View payload) {
  bytes::Reader in(payload);
  const auto triplet = in.u8();
  const auto code = in.u8();
  const auto flags = in.u8();
  in.u8();  // Reserved bits are ignored. [RDMAP-18]
  if (!in.ok()) return std::nullopt;
  // Deviation: this stack also accepts the layout of the kernel's siw, whose bit fields are in host
  // order.
  const auto control = is_swapped(triplet, code, flags) ? read_swapped_control(triplet, code, flags)
                                                        : read_control(triplet, code, flags);
  Terminate t{.fault = control.fault, .segment = std::nullopt};
  if ((control.flags & (kLengthValid | kDdpIncluded)) != 0) {
    t.segment = read_segment(in, control.flags);
  }
  return t;
}

Subject subject_of(const Terminate& t) {
  Subject out;
  const auto header = echo(t);
  const auto* const row = header ? find_opcode(*header) : nullptr;
  const bool is_whole = row != nullptr && row->tagged == header->tagged && row->qn == header->qn;
  if (is_whole) {
    out.kind = kind_of(row->opcode, t.fault);
    out.segment = {.last = header->last,
                   .length = payload_length(t.segment->segment_length, header->size()),
                   .msn = header->msn,
                   .stag = header->stag,
                   .to = header->to};
  } else if (!header && t.fault.layer == Layer::kDdp) {
    out.kind = kind_by_model(t.fault);
  }
  if (t.segment && t.segment->rdma_header_size != 0) out.kind = Subject::Kind::kRead;
  return out;
}

std::string describe_terminate(bytes::View payload) {
  const auto t = decode_terminate(payload);
  if (!t) return fmt::format("Terminate truncated ({} octets)", payload.size());
  auto text = fmt::format("Terminate {}", bytes::to_string(t->fault));
  if (!t->segment) return text;
  text += fmt::format(" segment length={}", t->segment->segment_length);
  if (const auto header = echo(*t)) {
    text += fmt::format(" of [{}]", ddp::describe_header(*header));
  }
  if (t->segment->rdma_header_size != 0) text += " with Read Request header";
  return text;
}

}  // namespace iwarp::rdmap
