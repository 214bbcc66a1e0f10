// SPDX-License-Identifier: Apache-2.0
// StreamPort: the transitions of a queue pair's state, and what each transition flushes (verbs
// draft sections 6.2 and 8).
#include "queue_pair/stream_port.hpp"

#include <algorithm>
#include <cassert>

#include "iwarp/verbs/queue_pair_port.hpp"
#include "queue_pair/observed.hpp"

namespace iwarp::verbs {
namespace {

bool flushes(QpState state) { return state == QpState::kError || state == QpState::kTerminate; }

bool ends_connection(QpEvent event) {
  return event == QpEvent::kLowerLayerClosed || event == QpEvent::kLowerLayerLost;
}

}  // namespace

std::string_view to_string(QpEvent event) {
  static constexpr std::array<std::string_view, 9> kEventNames{
      "Connected",          "Stream error",     "Terminate received",
      "Close requested",    "Peer closed",      "Peer closed early",
      "Lower layer closed", "Lower layer lost", "Reset"};
  const auto index = static_cast<std::size_t>(event);
  return index < kEventNames.size() ? kEventNames[index] : "unknown";
}

bool StreamPort::open(QpDriver& driver, const Terms& terms, const Observed* observed) {
  if (observed == nullptr) return open(driver, terms);
  const auto between = std::make_shared<ObservedDriver>(qp_, ring_, inbound_.receive_queue(),
                                                        driver.shared(), observed->observer());
  if (!open(*between, terms)) return false;
  qp_.gate.watch(&between->watcher());
  between->report_early();
  return true;
}

bool StreamPort::open(QpDriver& driver, const Terms& terms) {
  const std::lock_guard lock(qp_.post);
  const auto next = bytes::step(kQpEdges, state(), QpEvent::kConnected);
  if (!next || qp_.driver != nullptr) return false;
  qp_.driver = driver.shared();
  qp_.ird = terms.ird;
  qp_.ord = std::min(terms.ord, qp_.ord_limit);
  qp_.peer_answers_none = terms.peer_answers_none;
  qp_.extensions = terms.extensions;
  qp_.send_immediate = terms.send_immediate;
  qp_.terminate_sent.reset();
  qp_.terminate_received.reset();
  if (qp_.local_failure != LocalFailure::kDraining) qp_.local_failure = LocalFailure::kNone;
  qp_.flush_before = 0;
  qp_.local_error = false;
  qp_.failed_work.reset();
  qp_.refused_memory.reset();
  qp_.completion_lost = false;
  qp_.receive_awaited_since = 0;
  inbound_.open(terms.hold_on_empty);
  // Reads that the application does not use are free for acknowledgements.
  const std::size_t unused = terms.ord - qp_.ord;
  send_.open(terms.acknowledging_reads != 0 ? terms.acknowledging_reads + unused : 0, terms.rtr);
  qp_.state.store(*next, std::memory_order_release);
  return true;
}

void StreamPort::event(QpEvent event) {
  const QpState before = state();
  const auto step = bytes::step(kQpEdges, before, event);
  assert(step);  // A missing edge is a bug of this stack. [VRB-5]
  const QpState next = step.value_or(before);
  const bool over = ends_connection(event);
  // A clean close flushes the receives, and requests that were posted too late to be sent, before
  // the queue pair is Idle again. [VRB-18] [DDP-57]
  if (over && before == QpState::kClosing) flush();
  qp_.state.store(next, std::memory_order_release);
  if (flushes(next)) flush();  // [VRB-14] [RDMAP-86] [DDP-63]
  if (over) {
    qp_.gate.watch(nullptr);
    std::shared_ptr<QpDriver> gone;  // destroyed after `lock` is released
    const std::lock_guard lock(qp_.post);
    gone.swap(qp_.driver);
    if (std::exchange(qp_.abort_asked, false)) {
      bytes::advance(kQpEdges, qp_.state, QpEvent::kLowerLayerLost);
    }
  }
  if (over) flush_posted();
  if (before == QpState::kRts && event == QpEvent::kLowerLayerLost) {
    qp_.async(AsyncEventType::kLlpConnectionLost);
  }
  if (before == QpState::kClosing) {
    qp_.async(next == QpState::kIdle ? AsyncEventType::kLlpCloseComplete
                                     : AsyncEventType::kBadClose);  // [VRB-17] [VRB-18]
  }
  report_last_receive(before);
}

bool StreamPort::end_unconnected(bool unanswered) {
  QpState before{};
  {
    const std::lock_guard lock(qp_.post);
    before = state();
    if (qp_.driver != nullptr || (unanswered && before != QpState::kIdle)) return false;
    if (unanswered) send_.peer_gone();  // No other thread flushes in Idle.
    bytes::advance(kQpEdges, qp_.state, QpEvent::kLowerLayerLost);
  }
  flush_posted();
  report_last_receive(before);
  return true;
}

// Raises kLastReceive when a queue pair with an SRQ has entered Error. Call after a flush, so that
// the event also follows the completion of the receive that was being filled.
void StreamPort::report_last_receive(QpState before) const {
  if (qp_.init.srq == nullptr || state() != QpState::kError || before == QpState::kError) return;
  qp_.async(AsyncEventType::kLastReceive);
}

void StreamPort::peer_fault(const rdmap::Terminate& terminate, bool departs) {
  if (departs) {
    const std::lock_guard lock(qp_.post);
    qp_.terminate_sent = terminate;
  }
  // If a Send was too long for its buffer, the receive fails. [VRB-38]
  const bool too_long = terminate.fault == ddp::kUntaggedTooLong &&
                        rdmap::subject_of(terminate).kind == rdmap::Subject::Kind::kSend;
  // [IBV-313]
  if (too_long) inbound_.blame_receive(WcStatus::kLocalLength);
  if (terminate.fault == ddp::kDdpCatastrophic) inbound_.blame_missing();  // [VRB-28]
  // [RDMAP-91] [DDP-91] [VRB-55]
  qp_.async(departs ? AsyncEventType::kTerminateSent : AsyncEventType::kLlpConnectionLost,
            terminate);
}

// Refuses to invalidate memory in which an answer will be placed. Nothing would be received until
// the memory is unpinned, so the answer would never arrive.
bytes::Check StreamPort::invalidating_send_received(const rdmap::ReceivedSend& send) {
  if (send_.awaits_answer_into(send.invalidated)) return bytes::fault(rdmap::kCannotInvalidate);
  return inbound_.send_received(send);
}

void StreamPort::terminate_received(const rdmap::Terminate& terminate) {
  {
    const std::lock_guard lock(qp_.post);
    qp_.terminate_received = terminate;
  }
  send_.is_acknowledged() ? send_.judge(terminate) : send_.blame(terminate);
  event(QpEvent::kTerminateReceived);
  qp_.async(AsyncEventType::kTerminateReceived, terminate);  // [RDMAP-62]
}

StreamEnd StreamPort::end(StreamEnd::Cause cause) const {
  return {.cause = cause,
          .work = qp_.failed_work,
          .memory = qp_.refused_memory,
          .completion_lost = qp_.completion_lost.load()};
}

std::optional<mpa::Duration> StreamPort::answer_limit() const {
  if (!send_.is_acknowledged() || state() != QpState::kRts) return std::nullopt;
  const mpa::Duration limit{qp_.answer_limit.load(std::memory_order_relaxed)};
  if (limit == mpa::Duration::zero() || !send_.awaits_answer()) return std::nullopt;
  return limit;
}

std::optional<mpa::Duration> StreamPort::receive_hold() const {
  const mpa::Duration hold{qp_.receive_hold.load(std::memory_order_relaxed)};
  if (!send_.is_acknowledged() || hold < mpa::Duration::zero()) return std::nullopt;
  return hold;
}

bool StreamPort::revoke(const Region& region, bool mid_message) {
  const bool sends_need_it = send_.revoke(region, mid_message);
  return inbound_.revoke(region) || sends_need_it;
}

// [IBV-306]
void StreamPort::flush_posted() {
  if (flushes(state())) flush();
}

void StreamPort::flush() {
  const std::lock_guard lock(flushing_);
  post_held();
  inbound_.flush_blamed();
  send_.flush();
  inbound_.flush();
}

// A held send queue -------------------------------------------------------------------------------

// In InfiniBand's state SQD, the send queue does not start new requests. The slots of held requests
// are filled, but not posted.

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
