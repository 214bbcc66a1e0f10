// SPDX-License-Identifier: Apache-2.0
// StreamPort: a send queue that does not start new requests (InfiniBand's state SQD). The slots of
// held requests are filled, but not posted.
#include "iwarp/verbs/queue_pair_port.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

// [IBV-448, IBV-603]
void StreamPort::hold_sends(bool reports) {
  std::shared_ptr<QpDriver> driver;
  {
    const std::lock_guard lock(qp_.post);
    ring_.is_held = true;
    auto none = LocalFailure::kNone;
    if (reports) qp_.local_failure.compare_exchange_strong(none, LocalFailure::kDraining);
    driver = qp_.driver;
  }
  if (driver != nullptr) {
    (void)driver->posted(Doorbell::kNow);
  } else {
    send_.report_drained();
  }
}

void StreamPort::post_held() {
  const std::lock_guard lock(qp_.post);
  ring_.is_held = false;
  ring_.posted.store(ring_.filled, std::memory_order_release);
  auto draining = LocalFailure::kDraining;
  qp_.local_failure.compare_exchange_strong(draining, LocalFailure::kNone);
}

void StreamPort::release_sends() {
  post_held();
  if (const auto driver = qp_.current_driver()) {
    (void)driver->posted(Doorbell::kNow);
  } else {
    flush_posted();
  }
}

void SendQueue::report_drained() {
  auto draining = LocalFailure::kDraining;
  if (is_idle() && qp_.local_failure.compare_exchange_strong(draining, LocalFailure::kNone)) {
    qp_.async(AsyncEventType::kSendsDrained);
  }
}

void hold_sends(QueuePair& qp, bool reports) { stream_port(qp).hold_sends(reports); }
void release_sends(QueuePair& qp) { stream_port(qp).release_sends(); }
void report_first_message(QueuePair& qp) { stream_port(qp).report_first_message(); }

}  // namespace iwarp::verbs
