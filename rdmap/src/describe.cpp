// SPDX-License-Identifier: Apache-2.0
// RDMAP in words: one line per message, for traces (RFC 5040 section 4).
#include "iwarp/rdmap/describe.hpp"

#include <fmt/format.h>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

std::string describe_message(bytes::View ulpdu) {
  const auto header = ddp::decode_segment_header(ulpdu);
  if (!header) return fmt::format("RDMAP truncated ({} octets)", ulpdu.size());
  const auto* row = find_opcode(header->rsvd_ulp & kOpcodeMask);
  if (row == nullptr) {
    return fmt::format("RDMAP unknown opcode 0x{:x}", header->rsvd_ulp & kOpcodeMask);
  }
  std::string text = fmt::format("RDMAP {}", row->name);
  if ((header->rsvd_ulp & kVersionMask) != kVersion) {
    text += fmt::format(" RV={}", header->rsvd_ulp >> 6);
  }
  const auto payload = ulpdu.subspan(header->size());
  if (row->invalidates) text += fmt::format(" STag=0x{:08x}", header->rsvd_ulp_rest);
  if (row->opcode == Opcode::kReadRequest) {
    const auto r = decode_read_request(payload);
    if (!r) return text + " truncated";
    text +=
        fmt::format(" {} octets from STag=0x{:08x} TO=0x{:x} to STag=0x{:08x} TO=0x{:x}", r->size,
                    r->source_stag.value, r->source_to.value, r->sink_stag.value, r->sink_to.value);
  }
  if (row->opcode == Opcode::kTerminate) return "RDMAP " + describe_terminate(payload);
  return text;
}

}  // namespace iwarp::rdmap
