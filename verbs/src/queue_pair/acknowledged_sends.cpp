// SPDX-License-Identifier: Apache-2.0
// SendQueue with acknowledged completions: requests complete when the peer has placed them. This
// file decides when to ask the peer, which requests the peer's answer completes, and which request
// fails if the peer does not answer (RFC 5040 sections 4.8 and 5.5).
#include <algorithm>
#include <array>

#include "queue_pair/send_queue.hpp"

namespace iwarp::verbs {
void SendQueue::open(std::size_t reads, mpa::Rtr rtr) {
  acks_ = {.is_on = reads != 0,
           .most = std::min(reads, Acknowledgements::kMost),
           .wanted = started_,
           .covered = started_,
           .acknowledged = started_,
           .noted = started_,
           .messages = started_,
           .left = started_,
           .last_msn = rtr == mpa::Rtr::kSend ? 1U : 0U,
           .last_request = rtr == mpa::Rtr::kRead ? 1U : 0U};
}

// Asking ------------------------------------------------------------------------------------------

// Returns whether to send an empty Read that asks for an acknowledgement. No empty Read is needed
// if a Read or atomic of the application may start now, because the answer to that request is also
// an acknowledgement. [IBV-300]
bool SendQueue::may_acknowledge(bool read_credit) {
  if (!acks_.is_due() || !read_credit || more_due_) return false;
  const auto failure = qp_.local_failure.load();
  if (qp_.state != QpState::kRts || failure == LocalFailure::kDue) return false;
  if (started_ == ring_.posted.load(std::memory_order_acquire)) return true;
  if (failure == LocalFailure::kPending) return true;
  const SendSlot& next = ring_.slot(started_);
  return !next.is_answered() || !may_start(next, read_credit);
}

bool SendQueue::next_acknowledged(bool read_credit, rdmap::Request& out) {
  if (!may_acknowledge(read_credit)) {
    const bool found = next_request(read_credit, out);
    note_started();
    if (found) {
      note_message(rdmap::info(out.opcode));
      return true;
    }
    note_fence();
    note_rest();
    if (!may_acknowledge(read_credit)) return false;
  }
  acks_.start(started_, out);
  return true;
}

void SendQueue::note_started() {
  // Skip retired slots, because they belong to the application again.
  acks_.noted = std::max(acks_.noted, ring_.retired.load());
  for (; acks_.noted < started_; ++acks_.noted) {
    const SendSlot& slot = ring_.slot(acks_.noted);
    const auto behind = acks_.noted + 1;
    if (!slot.is_local()) acks_.messages = behind;
    acks_.octets += slot.length;
    if (slot.is_answered()) {
      acks_.covered = behind;
      acks_.octets = 0;
    } else if (qp_.init.signal_all || has(slot.flags, SendFlags::kSignaled)) {
      acks_.wanted = behind;
    }
  }
}

// If the next request has a local fence, or cannot be executed, asks for an acknowledgement of all
// requests before it, because it waits for these. [VRB-43] [VRB-50]
void SendQueue::note_fence() {
  if (started_ == ring_.posted.load(std::memory_order_acquire)) return;
  if (ring_.retired.load() == started_) return;
  const bool waits = qp_.local_failure == LocalFailure::kPending ||
                     has(ring_.slot(started_).flags, SendFlags::kLocalFence);
  if (waits) acks_.wanted = started_;
}

// Records when no request needs an acknowledgement any more. Unsignaled requests without a later
// signaled request need none.
void SendQueue::note_rest() {
  const bool rests = acks_.left >= acks_.messages && acks_.acknowledged >= acks_.wanted &&
                     acks_.under_way == 0 && reads_under_way_ == 0 && !waits_for_memory_;
  if (rests) ring_.rests_at.store(started_);
}

// Answers -----------------------------------------------------------------------------------------

void SendQueue::left(std::uint64_t cookie) {
  if (cookie == Acknowledgements::kCookie || qp_.state != QpState::kRts) return;
  if (cookie < ring_.retired.load()) {
    acks_.left = cookie + 1;
    return;
  }
  SendSlot& slot = ring_.slot(cookie);
  if (--slot.unsent != 0) return;  // The Immediate of a Write is still to be sent.
  acks_.left = cookie + 1;
  if (!slot.is_answered()) {
    slot.stage = SendSlot::Stage::kLeft;
    slot.release_grants();
    if (cookie < acks_.acknowledged) retire();
  }
  note_rest();
}

void SendQueue::acknowledge(std::uint64_t sequence) {
  acks_.acknowledged = std::max(acks_.acknowledged, sequence);
  retire();
}

void SendQueue::read_answered(std::uint64_t cookie) {
  if (cookie == Acknowledgements::kCookie) {
    acknowledge(acks_.answered());
  } else {
    acknowledge(cookie);
    read_done(cookie);
  }
  note_rest();
}

void SendQueue::atomic_answered(std::uint64_t cookie, std::uint64_t original) {
  acknowledge(cookie);
  atomic_done(cookie, original);
  note_rest();
}

void SendQueue::delivered_before(rdmap::Msn msn) {
  if (const auto held = send_with(msn)) acknowledge(*held);
  note_rest();
}

// No answer ---------------------------------------------------------------------------------------

// Fails the request that the peer has refused, and completes the requests before it, which the peer
// has placed because the peer handles messages in order. [RDMAP-17] [RDMAP-20] [VRB-54]
void SendQueue::judge(const rdmap::Terminate& terminate) {
  if (const auto* const own = own_read(terminate)) return acknowledge(own->covers);
  const auto refused = named_by(terminate);
  if (!refused) return blame_oldest(WcStatus::kRemoteOperation);
  acknowledge(*refused);
  blame(ring_.slot(*refused), status_after(terminate));
  ring_.rests_at.store(SendRing::kNever);
}

void SendQueue::peer_gone() { blame_oldest(WcStatus::kRetryExceeded); }

void SendQueue::blame_oldest(WcStatus status) {
  if (is_idle()) return;
  const auto end = ring_.posted.load(std::memory_order_acquire);
  for (auto s = ring_.retired.load(); s < end; ++s) {
    SendSlot& slot = ring_.slot(s);
    if (slot.stage == SendSlot::Stage::kDone) continue;
    return blame(slot, status);
  }
}

const Acknowledgements::Own* SendQueue::own_read(const rdmap::Terminate& terminate) const {
  using Kind = rdmap::Subject::Kind;
  const auto subject = rdmap::subject_of(terminate);
  const bool is_read = subject.kind == Kind::kRead || subject.kind == Kind::kRequest;
  if (!is_read || !subject.segment) return nullptr;
  const auto msn = subject.segment->msn.value;
  const auto* const end = acks_.own.data() + acks_.under_way;
  const auto* const found =
      std::find_if(acks_.own.data(), end, [msn](const auto& own) { return own.msn == msn; });
  return found != end ? found : nullptr;
}

// Finds the refused request by the echoed header. If the peer echoed no header, returns the oldest
// request of the kind that the error concerns.
std::optional<std::uint64_t> SendQueue::named_by(const rdmap::Terminate& terminate) {
  using Kind = rdmap::Subject::Kind;
  const auto subject = rdmap::subject_of(terminate);
  switch (subject.kind) {
    case Kind::kRead:
    case Kind::kAtomic:
    case Kind::kRequest:
      return request_named(subject);
    case Kind::kWrite:
      if (subject.segment) return oldest_write(*subject.segment);
      return oldest([](const auto& s) { return s.is_write(); });
    case Kind::kSend:
    case Kind::kImmediate:
      if (subject.segment) return send_with(subject.segment->msn);
      return oldest([](const auto& s) { return s.is_send(); });
    case Kind::kUnknown:
      break;
  }
  return std::nullopt;
}

// Finds the request of an echoed header. If the peer echoes no MSN, or an MSN that belongs to no
// request, finds the oldest request of the same kind. A request that DDP refused has no kind.
std::optional<std::uint64_t> SendQueue::request_named(const rdmap::Subject& subject) {
  using Kind = rdmap::Subject::Kind;
  const auto is_kind = [&subject](const SendSlot& slot) {
    return subject.kind == Kind::kRead ? slot.is_read()
                                       : subject.kind == Kind::kAtomic && slot.is_atomic();
  };
  const auto is_it = [&](const SendSlot& slot) {
    const auto requests = slot.is_read() ? read_requests(slot.sgl) : 1;
    const bool may_be = subject.kind == Kind::kRequest ? slot.is_answered() : is_kind(slot);
    return may_be && subject.segment->msn.value - slot.msn < static_cast<std::uint32_t>(requests);
  };
  const auto exact = subject.segment ? oldest(is_it) : std::nullopt;
  return exact ? exact : oldest(is_kind);
}

// Finds the oldest Write that contains the echoed segment. Several Writes may have the same target,
// so the length of the segment must match as well, and the last segment must end where the Write
// ends. If the peer does not echo the segment's length, returns the oldest Write to the same
// target.
std::optional<std::uint64_t> SendQueue::oldest_write(const rdmap::Subject::Segment& segment) {
  const auto offset = [&segment](const SendSlot& slot) {
    // wraps to a huge value if the segment is before the Write
    return segment.to.value - slot.remote.to;
  };
  const auto begins_inside = [&](const SendSlot& slot) {
    return slot.is_write() && slot.remote.rkey == segment.stag && offset(slot) < slot.length;
  };
  const auto fits = [&](const SendSlot& slot) {
    if (!begins_inside(slot)) return false;
    const auto rest = slot.length - offset(slot);
    return segment.last ? segment.length == rest : segment.length < rest;
  };
  const auto exact = oldest(fits);
  return exact ? exact : oldest(begins_inside);
}

std::optional<std::uint64_t> SendQueue::send_with(ddp::Msn msn) {
  auto at = acks_.last_msn;
  for (auto s = started_; s-- > ring_.retired.load();) {
    const SendSlot& slot = ring_.slot(s);
    const auto messages = slot.sends() - (more_due_ == s && slot.is_send() ? 1U : 0U);
    // `at` is the newest MSN of the slot; MSNs count modulo 2^32. [DDP-33]
    const auto before = at - msn.value;
    at -= messages;
    if (before >= messages) continue;
    return slot.stage == SendSlot::Stage::kDone ? std::nullopt : std::optional(s);
  }
  return std::nullopt;
}

template <typename Predicate>
std::optional<std::uint64_t> SendQueue::oldest(Predicate is_it) {
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    const SendSlot& slot = ring_.slot(s);
    if (slot.stage != SendSlot::Stage::kDone && is_it(slot)) return s;
  }
  return std::nullopt;
}

}  // namespace iwarp::verbs
