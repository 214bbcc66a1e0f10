// SPDX-License-Identifier: Apache-2.0
// SendQueue: finds the request that explains the end of a stream. This is the request that failed
// locally, the request that the peer's Terminate names, or the oldest outstanding request.
#include <algorithm>

#include "iwarp/rdmap/faults.hpp"
#include "queue_pair/send_queue.hpp"

namespace iwarp::verbs {

// Returns whether the Terminate reports a misaligned atomic, for which the RFC uses a catastrophic
// stream error. [EXT-10] [EXT-17]
bool is_misaligned(const rdmap::Terminate& terminate) {
  return terminate.fault == rdmap::kStreamCatastrophic &&
         rdmap::subject_of(terminate).kind == rdmap::Subject::Kind::kAtomic;
}

namespace {

WcStatus status_after(const rdmap::Terminate& terminate) {
  const auto& fault = terminate.fault;
  if (rdmap::is_protection_error(fault)) return WcStatus::kRemoteAccess;
  if (is_misaligned(terminate)) return WcStatus::kRemoteInvalidRequest;
  return WcStatus::kRemoteOperation;
}

}  // namespace

EndedWork SendQueue::described(const SendSlot& slot) {
  const bool names_memory = slot.is_write() || slot.is_answered();
  return {.queue = WorkQueue::kSend,
          .wr_id = slot.wr_id,
          .status = slot.status,
          .length = slot.length,
          .opcode = slot.opcode,
          .remote = names_memory ? slot.remote : RemoteAddress{}};
}

void SendQueue::blame(SendSlot& slot, WcStatus status) {
  slot.status = status;
  qp_.note(described(slot));
}

// Fails the Read or atomic that the Terminate names. Earlier requests that are not answered are
// only flushed, because some peers drop the answers that they owe. [VRB-54] [EXT-61]
void SendQueue::blame(const rdmap::Terminate& terminate) {
  const auto named = request_named(rdmap::subject_of(terminate));
  if (named) return blame(ring_.slot(*named), status_after(terminate));
  if (const auto done = sent_work(terminate)) qp_.note(*done);
}

// Finds the sent request that the Terminate names. A Send or Write completes when it is sent, but
// its slot keeps its contents until another request uses it. Holds `post`, so that no slot is
// refilled during the search.
std::optional<EndedWork> SendQueue::sent_work(const rdmap::Terminate& terminate) {
  using Kind = rdmap::Subject::Kind;
  const auto subject = rdmap::subject_of(terminate);
  if (!subject.segment) return std::nullopt;
  const auto is_it = [&](const SendSlot& slot, std::uint32_t newest_msn) {
    if (subject.kind == Kind::kWrite) {
      return slot.is_write() && slot.remote.rkey == subject.segment->stag &&
             subject.segment->to.value - slot.remote.to < slot.length;
    }
    const bool is_message = subject.kind == Kind::kSend || subject.kind == Kind::kImmediate;
    return is_message && newest_msn - subject.segment->msn.value < slot.sends();
  };
  const std::lock_guard lock(qp_.post);
  const auto posted = ring_.posted.load(std::memory_order_acquire);
  const auto first = std::max(acks_.noted, posted - std::min(posted, ring_.capacity()));
  auto msn = acks_.last_msn;
  for (auto s = started_; s-- > first;) {
    const SendSlot& slot = ring_.slot(s);
    if (is_it(slot, msn)) return described(slot);
    msn -= slot.sends();
  }
  return std::nullopt;
}

std::optional<EndedWork> SendQueue::oldest_outstanding() {
  const auto first = ring_.retired.load();
  if (is_idle()) return std::nullopt;
  return described(ring_.slot(first));
}

}  // namespace iwarp::verbs
