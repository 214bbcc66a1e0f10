// SPDX-License-Identifier: Apache-2.0
// SendQueue: requests that fail. Finds the request that explains the end of a stream: the one that
// failed locally, the one that the peer's Terminate names, or the oldest outstanding one. Finds the
// requests in flight whose memory is revoked, invalidated or gone, and fails the one whose message
// cannot be completed. A failed request of a queue pair of InfiniBand's type UC stops only the send
// queue: the requests behind it are flushed until the application resumes the send queue.
#include <algorithm>
#include <array>

#include "iwarp/rdmap/faults.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "queue_pair/send_queue.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {
namespace {

// The status of a request that the peer refuses by a Terminate with `fault`. The table does not
// contain the protection errors of RDMAP.
struct Verdict {
  bytes::Fault fault;
  WcStatus status;
};
constexpr std::array kVerdicts{
    Verdict{ddp::kTaggedInvalidStag, WcStatus::kRemoteAccess},
    Verdict{ddp::kTaggedBounds, WcStatus::kRemoteAccess},
    Verdict{ddp::kTaggedNotAssociated, WcStatus::kRemoteAccess},
    Verdict{ddp::kTaggedWrap, WcStatus::kRemoteAccess},
    Verdict{ddp::kUntaggedNoBuffer, WcStatus::kRnrRetryExceeded},
    Verdict{ddp::kUntaggedTooLong, WcStatus::kRemoteInvalidRequest},
    Verdict{rdmap::kUnexpectedOpcode, WcStatus::kRemoteInvalidRequest},
};

}  // namespace

// [IBV-319, IBV-320, IBV-321, IBV-323]
WcStatus status_after(const rdmap::Terminate& terminate) {
  const auto& fault = terminate.fault;
  const auto kind = rdmap::subject_of(terminate).kind;
  if (rdmap::is_protection_error(fault)) return WcStatus::kRemoteAccess;
  // The atomic is misaligned: the RFC uses a catastrophic stream error. [EXT-10] [EXT-17]
  const bool is_misaligned =
      fault == rdmap::kStreamCatastrophic && kind == rdmap::Subject::Kind::kAtomic;
  // The Read or atomic exceeds the peer's IRD. [RDMAP-84]
  const bool is_beyond_ird =
      fault == ddp::kUntaggedNoBuffer && kind == rdmap::Subject::Kind::kRequest;
  if (is_misaligned || is_beyond_ird) return WcStatus::kRemoteInvalidRequest;
  for (const Verdict& v : kVerdicts) {
    if (v.fault == fault) return v.status;
  }
  return WcStatus::kRemoteOperation;
}

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
  const auto first = std::max(acks_.noted, ring_.filled - std::min(ring_.filled, ring_.capacity()));
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

// Revoked memory ----------------------------------------------------------------------------------

bool SendQueue::awaits_answer_into(Stag stag) const {
  if (!awaits_answer()) return false;
  const auto is_there = [stag](const Grant& grant) {
    return grant.region() != nullptr && grant.region()->stag.load() == stag.value;
  };
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    const SendSlot& slot = ring_.slot(s);
    if (slot.is_answered() && std::any_of(slot.grants.begin(), slot.grants.end(), is_there)) {
      return true;
    }
  }
  return false;
}

bool SendQueue::revoke(const Region& region, bool mid_message) {
  const auto names = [&region](const Grant& grant) { return grant.region() == &region; };
  bool needed = false;
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    SendSlot& slot = ring_.slot(s);
    if (std::none_of(slot.grants.begin(), slot.grants.end(), names)) continue;
    const bool send_due = slot.opcode == WrOpcode::kSendImmediate && more_due_ == s;
    const bool unfinished = slot.is_answered() || send_due || (mid_message && s + 1 == started_);
    // fail only one request [VRB-14]
    if (unfinished && !needed) fail_now(slot, WcStatus::kLocalProtection);
    needed |= unfinished;
    slot.release_grants();
  }
  return needed;
}

void SendQueue::memory_gone(const std::byte* address) {
  const auto has_it = [address](const Grant& grant) { return grant.has(address); };
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    SendSlot& slot = ring_.slot(s);
    if (slot.stage != SendSlot::Stage::kStarted) continue;
    if (std::none_of(slot.grants.begin(), slot.grants.end(), has_it)) continue;
    return fail_now(slot, WcStatus::kLocalProtection);
  }
}

// A stopped send queue ----------------------------------------------------------------------------

// If only the send queue has to stop, completes the failed request, once all requests before it are
// complete, and flushes the requests behind it. Returns whether requests may start, because the
// application has resumed the send queue, or because no request has failed. [IBV-461]
bool SendQueue::flush_stopped() {
  auto pending = LocalFailure::kPending;
  const auto failure = qp_.local_failure.load();
  if (failure == LocalFailure::kDraining) return true;
  if (!qp_.is_unreliable || failure != pending) return false;
  if (ring_.retired.load() != failed_) return false;
  const auto before = qp_.flush_before.load();
  const auto end = std::min(before, ring_.posted.load(std::memory_order_acquire));
  for (; started_ < end; ++started_) {
    SendSlot& slot = ring_.slot(started_);
    slot.stage = SendSlot::Stage::kDone;
    if (slot.status == WcStatus::kSuccess) slot.status = WcStatus::kWrFlush;
  }
  retire();
  failed_ = started_;
  if (started_ < before) return false;
  failed_ = SendRing::kNever;
  return qp_.local_failure.compare_exchange_strong(pending, LocalFailure::kNone);
}

void StreamPort::resume_sends() {
  const std::lock_guard lock(qp_.post);
  if (has_stopped_sends()) qp_.flush_before = ring_.posted.load();
}

void make_unreliable(QueuePair& qp) { stream_port(qp).make_unreliable(); }
bool has_stopped_sends(QueuePair& qp) { return stream_port(qp).has_stopped_sends(); }
void resume_sends(QueuePair& qp) { stream_port(qp).resume_sends(); }

}  // namespace iwarp::verbs
