// SPDX-License-Identifier: Apache-2.0
// Codec of the Atomic Request and Response headers (RFC 7306 section 5.2).
#include "iwarp/rdmap/atomic_header.hpp"

#include "iwarp/rdmap/faults.hpp"

namespace iwarp::rdmap {
namespace {

constexpr std::uint32_t kAtomicOpcodeMask = 0x0F;  // the 28 bits before AOpCode are reserved

bool is_known(std::uint32_t opcode) {
  return opcode == static_cast<std::uint32_t>(AtomicOpcode::kFetchAdd) ||
         opcode == static_cast<std::uint32_t>(AtomicOpcode::kCmpSwap);
}

}  // namespace

bytes::Result<AtomicRequest> decode_atomic_request(bytes::View octets) {
  bytes::Reader in(octets);
  AtomicRequest r;
  const std::uint32_t opcode = in.u32() & kAtomicOpcodeMask;  // Ignore the reserved bits. [EXT-22]
  r.id = in.u32();
  r.stag = ddp::Stag{in.u32()};
  r.to = ddp::TaggedOffset{in.u64()};
  r.add_or_swap = in.u64();
  r.mask = in.u64();
  r.compare = in.u64();
  r.compare_mask = in.u64();
  if (!in.ok()) {
    return bytes::fault({Layer::kRdma, 2, 0xFF, "Atomic Request shorter than its header"});
  }
  // The text of the RFC mentions a Swap with opcode 1, which is not in its table. Refuse that
  // opcode too. [EXT-27]
  if (!is_known(opcode)) {
    return bytes::fault({Layer::kRdma, 2, 0x06, "unsupported atomic operation"});
  }
  r.opcode = static_cast<AtomicOpcode>(opcode);
  return r;
}

void encode(const AtomicRequest& r, bytes::Writer& out) {
  const bool compares = r.opcode == AtomicOpcode::kCmpSwap;
  out.u32(static_cast<std::uint32_t>(r.opcode));  // Reserved bits are zero. [EXT-22]
  out.u32(r.id);
  out.u32(r.stag.value);
  out.u64(r.to.value);
  out.u64(r.add_or_swap);
  out.u64(r.mask);
  out.u64(compares ? r.compare : 0);  // [EXT-23]
  out.u64(compares ? r.compare_mask : ~std::uint64_t{0});
}

std::optional<AtomicResponse> decode_atomic_response(bytes::View octets) {
  bytes::Reader in(octets);
  AtomicResponse r;
  r.id = in.u32();
  r.original = in.u64();
  if (!in.ok()) return std::nullopt;
  return r;
}

void encode(const AtomicResponse& r, bytes::Writer& out) {
  out.u32(r.id);
  out.u64(r.original);
}

}  // namespace iwarp::rdmap
