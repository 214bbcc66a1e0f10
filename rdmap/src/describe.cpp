// SPDX-License-Identifier: Apache-2.0
// Describes each RDMAP message on one line, for traces (RFC 5040 section 4, RFC 7306 sections 5 and
// 6).
#include "iwarp/rdmap/describe.hpp"

#include <fmt/format.h>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {
namespace {

std::string describe_read_request(bytes::View payload) {
  const auto r = decode_read_request(payload);
  if (!r) return " truncated";
  return fmt::format(" {} octets from STag=0x{:08x} TO=0x{:x} to STag=0x{:08x} TO=0x{:x}", r->size,
                     r->source_stag.value, r->source_to.value, r->sink_stag.value,
                     r->sink_to.value);
}

std::string describe_atomic_request(bytes::View payload) {
  const auto r = decode_atomic_request(payload);
  if (!r && payload.size() < kAtomicRequestSize) return " truncated";
  if (!r) return fmt::format(" unknown AOpCode {}", std::to_integer<unsigned>(payload[3]) & 0x0F);
  const bool swap = r->opcode == AtomicOpcode::kCmpSwap;
  return fmt::format(
      " {0} id=0x{1:08x} STag=0x{2:08x} TO=0x{3:x} {4}=0x{5:x} {4}_mask=0x{6:x} compare=0x{7:x} "
      "compare_mask=0x{8:x}",
      swap ? "CmpSwap" : "FetchAdd", r->id, r->stag.value, r->to.value, swap ? "swap" : "add",
      r->add_or_swap, r->mask, r->compare, r->compare_mask);
}

std::string describe_atomic_response(bytes::View payload) {
  const auto r = decode_atomic_response(payload);
  if (!r) return " truncated";
  return fmt::format(" id=0x{:08x} original=0x{:x}", r->id, r->original);
}

std::string describe_immediate(bytes::View payload) {
  if (payload.size() < kImmediateSize) return " truncated";
  return fmt::format(" 0x{:016x}", bytes::load_be<std::uint64_t>(payload.data()));
}

}  // namespace

std::string describe_message(bytes::View ulpdu) {
  const auto header = ddp::decode_segment_header(ulpdu);
  if (!header) return fmt::format("RDMAP truncated ({} octets)", ulpdu.size());
  const auto* row = find_opcode(*header);
  if (row == nullptr) {
    return fmt::format("RDMAP unknown opcode 0x{:x}", header->rsvd_ulp & kOpcodeMask);
  }
  std::string text("RDMAP ");
  text += row->name;
  if ((header->rsvd_ulp & kVersionMask) != kVersion) {
    text += fmt::format(" RV={}", header->rsvd_ulp >> 6);
  }
  const auto payload = ulpdu.subspan(header->size());
  if (row->invalidates) text += fmt::format(" STag=0x{:08x}", header->rsvd_ulp_rest);
  switch (row->opcode) {
    case Opcode::kReadRequest:
      return text + describe_read_request(payload);
    case Opcode::kTerminate:
      return "RDMAP " + describe_terminate(payload);
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      return text + describe_immediate(payload);
    case Opcode::kAtomicRequest:
      return text + describe_atomic_request(payload);
    case Opcode::kAtomicResponse:
      return text + describe_atomic_response(payload);
    default:
      return text;
  }
}

}  // namespace iwarp::rdmap
