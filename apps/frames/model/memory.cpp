// SPDX-License-Identifier: Apache-2.0
// Determines, from the headers of a frame, which memory the frame accesses.
#include "frames/model/memory.hpp"

#include <algorithm>
#include <limits>

#include "iwarp/rdmap/atomic_header.hpp"

namespace iwarp::apps::frames {
namespace {

using rdmap::Opcode;

/// Returns whether the message is a Send, whose payload is placed in the buffer of a Receive.
/// Immediate Data does not count as a Send, because its payload goes into the completion.
bool is_send(Opcode opcode) {
  return opcode == Opcode::kSend || opcode == Opcode::kSendInvalidate ||
         opcode == Opcode::kSendSolicited || opcode == Opcode::kSendSolicitedInvalidate;
}

bool fill_untagged(const Explained& e, Access& access) {
  const auto& h = *e.header;
  const auto opcode = e.opcode->opcode;
  if (is_send(opcode)) {
    access.kind = AccessKind::kReceive;
    access.msn = h.msn.value;
    access.to = h.mo;
    access.size = e.payload_size;
    return true;
  }
  if (opcode == Opcode::kReadRequest) {
    const auto request = e.meant ? e.meant : rdmap::decode_read_request(e.payload);
    if (!request) return false;
    access.kind = AccessKind::kRead;
    access.stag = request->source_stag.value;
    access.to = request->source_to.value;
    access.size = request->size;
    return true;
  }
  if (opcode == Opcode::kAtomicRequest) {
    const auto request = rdmap::decode_atomic_request(e.payload);
    if (!request) return false;
    access.kind = AccessKind::kAtomic;
    access.stag = request->stag.value;
    access.to = request->to.value;
    access.size = rdmap::kAtomicWord;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Access> access_of(const Explained& e) {
  const Frame& frame = *e.frame;
  if (frame.kind != FrameKind::kFpdu || frame.crc == CrcVerdict::kBad) return std::nullopt;
  if (!e.header || e.opcode == nullptr || e.header->tagged != e.opcode->tagged) return std::nullopt;
  Access access{.owner = other(frame.from), .doubtful = !e.violations.empty()};
  if (e.header->tagged) {
    access.stag = e.header->stag.value;
    access.to = e.header->to.value;
    access.size = e.payload_size;
  } else if (!fill_untagged(e, access)) {
    return std::nullopt;
  }
  if (access.size == 0) return std::nullopt;
  return access;
}

void MemoryBook::see(const Explained& e) {
  if (const auto access = access_of(e); access && access->kind != AccessKind::kReceive) {
    auto& regions = regions_[static_cast<std::size_t>(access->owner)];
    if (regions.size() == kMaxRegions && !regions.contains(access->stag)) return;
    const auto room = std::numeric_limits<std::uint64_t>::max() - access->to;
    const auto end = access->to + std::min(access->size, room);
    const auto [entry, fresh] = regions.try_emplace(
        access->stag, Region{.begin = access->to, .end = end, .first = e.number});
    auto& region = entry->second;
    region.begin = std::min(region.begin, access->to);
    region.end = std::max(region.end, end);
    ++region.uses;
  }
  const bool invalidates = e.opcode != nullptr && e.opcode->invalidates && e.header->last;
  if (!invalidates || e.frame->crc == CrcVerdict::kBad) return;
  auto& regions = regions_[static_cast<std::size_t>(other(e.frame->from))];
  const auto region = regions.find(e.header->rsvd_ulp_rest);
  if (region != regions.end()) region->second.invalidated = e.number;
}

}  // namespace iwarp::apps::frames
