// SPDX-License-Identifier: Apache-2.0
// Codec of the DDP segment headers (RFC 5041 sections 4.1 to 4.3).
#include "iwarp/ddp/segment_header.hpp"

#include <fmt/format.h>

namespace iwarp::ddp {

bytes::Result<SegmentHeader> decode_segment_header(bytes::View ulpdu) {
  SegmentHeader header;
  if (!decode(ulpdu, header)) return bytes::fault(kHeaderTooShort);
  return header;
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
