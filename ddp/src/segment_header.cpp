// SPDX-License-Identifier: Apache-2.0
// Codec of the DDP segment headers (RFC 5041 sections 4.1 to 4.3).
#include "iwarp/ddp/segment_header.hpp"

#include <fmt/format.h>

namespace iwarp::ddp {
namespace {

constexpr std::uint8_t kTaggedFlag = 0x80;
constexpr std::uint8_t kLastFlag = 0x40;
constexpr std::uint8_t kVersionMask = 0x03;

}  // namespace

std::size_t header_size(bytes::View octets) {
  if (octets.empty()) return 0;
  const bool tagged = (std::to_integer<std::uint8_t>(octets[0]) & kTaggedFlag) != 0;
  return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize;
}

bytes::Result<SegmentHeader> decode_segment_header(bytes::View ulpdu) {
  bytes::Reader in(ulpdu);
  SegmentHeader h;
  const auto control = in.u8();
  h.tagged = (control & kTaggedFlag) != 0;
  h.last = (control & kLastFlag) != 0;
  h.version = control & kVersionMask;  // The reserved bits 0x3C are skipped. [DDP-19]
  h.rsvd_ulp = in.u8();
  if (h.tagged) {
    h.stag = Stag{in.u32()};
    h.to = TaggedOffset{in.u64()};
  } else {
    h.rsvd_ulp_rest = in.u32();
    h.qn = in.u32();
    h.msn = Msn{in.u32()};
    h.mo = in.u32();
  }
  if (!in.ok()) {
    return bytes::fault({Layer::kDdp, 0, 0x00, "ULPDU shorter than its DDP header"});
  }
  return h;
}

void encode(const SegmentHeader& h, bytes::Writer& out) {
  // Every segment carries a header; the four reserved bits are zero. [DDP-18] [DDP-20] [DDP-36]
  out.u8(static_cast<std::uint8_t>((h.tagged ? kTaggedFlag : 0) | (h.last ? kLastFlag : 0) |
                                   (h.version & kVersionMask)));
  out.u8(h.rsvd_ulp);
  if (h.tagged) {
    out.u32(h.stag.value);
    out.u64(h.to.value);
  } else {
    out.u32(h.rsvd_ulp_rest);
    out.u32(h.qn);
    out.u32(h.msn.value);
    out.u32(h.mo);
  }
}

std::string describe_header(const SegmentHeader& header) {
  const auto version = header.version == kDdpVersion ? "" : fmt::format(" DV={}", header.version);
  const auto* last = header.last ? "last " : "";
  if (header.tagged) {
    return fmt::format("DDP tagged {}STag=0x{:08x} TO=0x{:x}{}", last, header.stag.value,
                       header.to.value, version);
  }
  return fmt::format("DDP untagged {}QN={} MSN={} MO={}{}", last, header.qn, header.msn.value,
                     header.mo, version);
}

std::string describe_segment(bytes::View ulpdu) {
  const auto header = decode_segment_header(ulpdu);
  if (!header) return fmt::format("DDP truncated ({} octets)", ulpdu.size());
  return fmt::format("{} payload={}", describe_header(*header), ulpdu.size() - header->size());
}

}  // namespace iwarp::ddp
