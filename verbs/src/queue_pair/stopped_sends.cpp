// SPDX-License-Identifier: Apache-2.0
// SendQueue: a failed request of a queue pair of InfiniBand's type UC stops only the send queue.
// The requests behind it are flushed until the application resumes the send queue.
#include <algorithm>

#include "iwarp/verbs/unreliable.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

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
