// SPDX-License-Identifier: Apache-2.0
// Codec of the DDP segment headers (RFC 5041 sections 4.1 to 4.3).
#include "iwarp/ddp/segment_header.hpp"

#include <fmt/format.h>

namespace iwarp::ddp {
namespace {

constexpr std::uint8_t kTaggedFlag = 0x80;
constexpr std::uint8_t kLastFlag = 0x40;
constexpr std::uint8_t kVersionMask = 0x03;

// Octets from the start of the header: the first two are in both kinds.
constexpr std::size_t kRsvdUlp = 1;
constexpr std::size_t kStag = 2;
constexpr std::size_t kTo = 6;
constexpr std::size_t kRsvdUlpRest = 2;
constexpr std::size_t kQn = 6;
constexpr std::size_t kMsn = 10;
constexpr std::size_t kMo = 14;

}  // namespace

std::size_t header_size(bytes::View octets) {
  if (octets.empty()) return 0;
  const bool tagged = (std::to_integer<std::uint8_t>(octets[0]) & kTaggedFlag) != 0;
  return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize;
}

bytes::Result<SegmentHeader> decode_segment_header(bytes::View ulpdu) {
  SegmentHeader header;
  if (!decode(ulpdu, header)) return bytes::fault(kHeaderTooShort);
  return header;
}

bool decode(bytes::View ulpdu, SegmentHeader& h) {
  if (ulpdu.empty() || ulpdu.size() < header_size(ulpdu)) return false;
  const std::byte* const at = ulpdu.data();
  const auto control = std::to_integer<std::uint8_t>(at[0]);
  h = {};
  h.tagged = (control & kTaggedFlag) != 0;
  h.last = (control & kLastFlag) != 0;
  h.version = control & kVersionMask;  // The reserved bits 0x3C are skipped. [DDP-19]
  h.rsvd_ulp = std::to_integer<std::uint8_t>(at[kRsvdUlp]);
  if (h.tagged) {
    h.stag = Stag{bytes::load_be<std::uint32_t>(at + kStag)};
    h.to = TaggedOffset{bytes::load_be<std::uint64_t>(at + kTo)};
  } else {
    h.rsvd_ulp_rest = bytes::load_be<std::uint32_t>(at + kRsvdUlpRest);
    h.qn = bytes::load_be<std::uint32_t>(at + kQn);
    h.msn = Msn{bytes::load_be<std::uint32_t>(at + kMsn)};
    h.mo = bytes::load_be<std::uint32_t>(at + kMo);
  }
  return true;
}

void encode(const SegmentHeader& h, bytes::Writer& out) {
  const auto octets = out.take(h.size());
  if (octets.empty()) return;
  std::byte* const at = octets.data();
  // Every segment carries a header; the four reserved bits are zero. [DDP-18] [DDP-20] [DDP-36]
  at[0] = static_cast<std::byte>((h.tagged ? kTaggedFlag : 0) | (h.last ? kLastFlag : 0) |
                                 (h.version & kVersionMask));
  at[kRsvdUlp] = static_cast<std::byte>(h.rsvd_ulp);
  if (h.tagged) {
    bytes::store_be(at + kStag, h.stag.value);
    bytes::store_be(at + kTo, h.to.value);
  } else {
    bytes::store_be(at + kRsvdUlpRest, h.rsvd_ulp_rest);
    bytes::store_be(at + kQn, h.qn);
    bytes::store_be(at + kMsn, h.msn.value);
    bytes::store_be(at + kMo, h.mo);
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
