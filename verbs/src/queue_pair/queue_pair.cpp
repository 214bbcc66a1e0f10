// SPDX-License-Identifier: Apache-2.0
// QueuePair: the application's half of a queue pair. It checks which requests may be posted, and
// implements the calls that change the state (verbs draft sections 6.2 and 8).
#include "iwarp/verbs/queue_pair.hpp"

#include <algorithm>
#include <cstring>

#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {
namespace {

/// Returns whether the request is a single message that carries only payload.
constexpr bool is_plain(WrOpcode opcode) {
  return opcode == WrOpcode::kSend || opcode == WrOpcode::kWrite;
}

bool carries_payload(WrOpcode opcode) {
  return is_plain(opcode) || opcode == WrOpcode::kSendInvalidate || is_pair(opcode);
}

// Checks the form of a request of RFC 7306.
std::error_code check_extension(const SendWr& wr) {
  if (is_atomic(wr.opcode) && (wr.sgl.size() != 1 || wr.sgl[0].length != rdmap::kAtomicWord)) {
    return make_error_code(Errc::kAtomicNeedsOneWord);
  }
  if ((wr.opcode == WrOpcode::kImmediate && !wr.sgl.empty()) ||
      (wr.opcode == WrOpcode::kSendImmediate && static_cast<std::uint32_t>(wr.immediate) != 0)) {
    return make_error_code(Errc::kInvalidArgument);
  }
  return {};
}

// Maximum number of octets that may wait to be sent together with later posts.
constexpr std::uint64_t kMostGathered = 128 << 10;
// Payload from which a request is large, see Doorbell::kLargeMayWait.
constexpr std::uint64_t kLarge = 32 << 10;

std::uint64_t length_of(const SendWr& wr) {
  if (wr.sgl.size() == 1) return wr.sgl.front().length;  // the usual case
  std::uint64_t length = 0;
  for (const Sge& sge : wr.sgl) length += sge.length;
  return length;
}

// [IBV-526]
void copy_inline(const SendWr& wr, std::byte* to) {
  for (const Sge& sge : wr.sgl) {
    if (sge.length != 0) std::memcpy(to, sge.address, sge.length);
    to += sge.length;
  }
}

}  // namespace

struct QueuePair::Impl {
  Impl(QpNum num, const QpInit& init, StagTable& stags,
       std::function<void(const AsyncEvent&)> on_event)
      : qp{.num = num, .init = init, .stags = stags, .on_event = std::move(on_event)},
        ring(init.limits.max_send_wr, init.limits.max_send_sge, init.limits.max_inline),
        port(qp, ring) {}

  QpShared qp;
  SendRing ring;
  StreamPort port;
  std::uint32_t seen_emptied = UINT32_MAX;  ///< sum of times_emptied() of both CQs at the last post
  std::uint64_t gathered = 0;               ///< number of octets posted with Doorbell::kMayWait

  // Call the following functions with qp.post locked. `length` is the length of the payload.
  std::error_code check(const SendWr& wr, std::uint64_t length) const;
  std::error_code make_room(std::size_t count, bool with_inline);
  /// Fills the slot of `sequence`, but does not post the request.
  void fill(std::uint64_t sequence, const SendWr& wr, std::uint64_t length);
  static void fill_other(const SendWr& wr, SendSlot& slot);
  std::error_code post(const SendWr& wr);
  /// Returns the doorbell for the last `count` requests.
  Doorbell doorbell(std::size_t count);

  /// Calls `work`, which posts requests and returns their number, with qp.post locked. Then
  /// notifies the driver.
  template <typename Work>
  void ring_after(Work work);
  /// Notifies `driver` of posted requests. If `driver` is null and the state requires it, flushes
  /// the requests.
  void work_posted(QpDriver* driver, Doorbell doorbell);
  void empty_ring();
  void drop_failed() const;
};

StreamPort& stream_port(QueuePair& qp) { return qp.impl_->port; }

QueuePair::QueuePair(QpNum num, const QpInit& init, StagTable& stags,
                     std::function<void(const AsyncEvent&)> on_event)
    : impl_(std::make_unique<Impl>(num, init, stags, std::move(on_event))) {
  CompletionQueuePort::attach(*init.send_cq);
  CompletionQueuePort::attach(*init.recv_cq);
  if (init.srq != nullptr) SharedReceiveQueuePort::attach(*init.srq);
}

QueuePair::~QueuePair() {
  const QpInit& init = impl_->qp.init;
  StreamPort& port = impl_->port;
  impl_->qp.stags.invalidate_windows_of(num());
  CompletionQueuePort::forget(*init.send_cq, &impl_->ring.reaped);
  CompletionQueuePort::forget(*init.recv_cq, &port.receive_queue().reaped());
  CompletionQueuePort::forget(*init.recv_cq, &port.shared_reaped());
  impl_->drop_failed();
  CompletionQueuePort::detach(*init.send_cq);
  CompletionQueuePort::detach(*init.recv_cq);
  if (init.srq != nullptr) SharedReceiveQueuePort::detach(*init.srq);
}

std::error_code QpShared::refuses(WrOpcode opcode, std::uint64_t immediate) const {
  const bool sends = opcode == WrOpcode::kSendImmediate;
  if (sends ? !send_immediate : !extensions) return make_error_code(Errc::kNotAgreed);
  const bool misleads = send_immediate && !sends && rdmap::announces_send(immediate);
  return misleads ? make_error_code(Errc::kInvalidArgument) : std::error_code{};
}

// Posting -----------------------------------------------------------------------------------------

std::error_code QueuePair::post_send(const SendWr& wr) {
  std::error_code error;
  impl_->ring_after([&]() -> std::size_t {
    error = impl_->post(wr);
    return error ? 0 : 1;
  });
  return error;
}

std::error_code QueuePair::post_send(std::span<const SendWr> wrs, std::size_t& posted) {
  std::error_code error;
  posted = 0;
  impl_->ring_after([&] {
    for (const SendWr& wr : wrs) {
      error = impl_->post(wr);
      if (error) break;  // The requests before the refused one stay posted. [VRB-41]
      ++posted;
    }
    return posted;
  });
  return error;
}

// [IBV-573]
std::error_code QueuePair::post_all(std::span<const SendWr> wrs) {
  std::error_code error;
  impl_->ring_after([&]() -> std::size_t {
    bool with_inline = false;
    for (const SendWr& wr : wrs) with_inline |= has(wr.flags, SendFlags::kInline);
    const auto no_room = impl_->make_room(wrs.size(), with_inline);
    auto sequence = impl_->ring.filled;
    for (const SendWr& wr : wrs) {
      const auto length = length_of(wr);
      error = impl_->check(wr, length);
      if (error) return 0;
      if (!no_room) impl_->fill(sequence++, wr, length);
    }
    error = no_room;
    if (error) return 0;
    impl_->ring.advance(sequence);
    return wrs.size();
  });
  return error;
}

// [IBV-535]
template <typename Work>
inline void QueuePair::Impl::ring_after(Work work) {
  std::shared_ptr<QpDriver> driver;
  Doorbell bell{};
  {
    const std::lock_guard lock(qp.post);
    const std::size_t count = work();
    if (count == 0) return;
    driver = qp.driver;
    bell = doorbell(count);
  }
  work_posted(driver.get(), bell);
}

inline std::error_code QueuePair::Impl::post(const SendWr& wr) {
  const auto length = length_of(wr);
  if (const auto error = check(wr, length)) return error;
  if (const auto error = make_room(1, has(wr.flags, SendFlags::kInline))) return error;
  const auto sequence = ring.filled;
  fill(sequence, wr, length);
  ring.advance(sequence + 1);
  return {};
}

// A single request may wait and be coalesced with later requests if the application still has
// completions to poll. If both queues are armed, the application will not poll before a completion
// arrives. A list of requests is a batch already, so the list is sent now. Requests are also sent
// now if their total payload is large enough to be worth a system call.
inline Doorbell QueuePair::Impl::doorbell(std::size_t count) {
  const auto emptied = CompletionQueuePort::times_emptied(*qp.init.send_cq) +
                       CompletionQueuePort::times_emptied(*qp.init.recv_cq);
  const bool is_behind = std::exchange(seen_emptied, emptied) == emptied;
  if (is_behind && count == 1) {
    const auto length = ring.slot(ring.filled - 1).length;
    gathered += length;
    const bool sleeps = CompletionQueuePort::is_armed(*qp.init.send_cq) &&
                        CompletionQueuePort::is_armed(*qp.init.recv_cq);
    if (gathered <= kMostGathered) {
      if (!sleeps) return length < kLarge ? Doorbell::kMayWait : Doorbell::kLargeMayWait;
      if (length < kLarge) return Doorbell::kSoon;
    }
  }
  gathered = 0;
  return Doorbell::kNow;
}

inline void QueuePair::Impl::work_posted(QpDriver* driver, Doorbell doorbell) {
  if (driver == nullptr) {
    port.flush_posted();
  } else if (driver->posted(doorbell)) {
    port.let_posts_wait();
  }
}

// [IBV-386, IBV-528, IBV-531]
inline std::error_code QueuePair::Impl::check(const SendWr& wr, std::uint64_t length) const {
  const QpLimits& limits = qp.init.limits;
  if (wr.sgl.size() > limits.max_send_sge) return make_error_code(Errc::kTooManySge);
  if (length > UINT32_MAX) return make_error_code(Errc::kMessageTooLong);  // [DDP-38]
  const bool is_inline = has(wr.flags, SendFlags::kInline);
  if (is_plain(wr.opcode) && !is_inline) return {};
  // A kReadInvalidate has exactly one sink buffer, because the Read invalidates the STag of that
  // buffer. [RDMAP-47] [VRB-48]
  if (wr.opcode == WrOpcode::kReadInvalidate && wr.sgl.size() != 1) {
    return make_error_code(Errc::kReadNeedsOneSge);
  }
  if (is_extension(wr.opcode)) {
    // Check this only in RTS: in Idle, this end does not know yet whether the peer will agree.
    // [EXT-1]
    if (qp.state == QpState::kRts) {
      if (const auto error = qp.refuses(wr.opcode, wr.immediate)) return error;
    }
    if (const auto error = check_extension(wr)) return error;
  }
  if (is_inline) {
    if (!carries_payload(wr.opcode)) return make_error_code(Errc::kInvalidArgument);
    if (length > limits.max_inline) return make_error_code(Errc::kInlineTooLong);
  }
  return {};
}

// [IBV-384, IBV-532]
inline std::error_code QueuePair::Impl::make_room(std::size_t count, bool with_inline) {
  if (ring.room() < count) return make_error_code(Errc::kQueueFull);  // [VRB-42]
  if (ring.prepare(count, with_inline)) return {};
  return std::make_error_code(std::errc::not_enough_memory);
}

// Fills the slot of a request. Call after make_room().
inline void QueuePair::Impl::fill(std::uint64_t sequence, const SendWr& wr, std::uint64_t length) {
  SendSlot& slot = ring.slot(sequence);
  slot.wr_id = wr.wr_id;
  slot.opcode = wr.opcode;
  slot.flags = wr.flags;
  slot.stage = SendSlot::Stage::kPosted;
  slot.is_plain = is_plain(wr.opcode) && !has(wr.flags, SendFlags::kFence | SendFlags::kLocalFence);
  slot.status = WcStatus::kSuccess;
  slot.remote = wr.remote;
  slot.unsent = 1;
  if (!is_plain(wr.opcode)) fill_other(wr, slot);
  slot.set_sgl(wr.sgl);
  slot.length = static_cast<std::uint32_t>(length);
  if (has(wr.flags, SendFlags::kInline)) {
    slot.inline_data = ring.inline_data(sequence);
    copy_inline(wr, slot.inline_data);
  }
}

// Fills the fields that only requests other than a plain Send or Write use.
void QueuePair::Impl::fill_other(const SendWr& wr, SendSlot& slot) {
  slot.invalidate = wr.invalidate;
  slot.immediate = wr.immediate;
  if (wr.opcode == WrOpcode::kFastRegister) slot.registration = wr.registration;
  if (wr.opcode == WrOpcode::kBindWindow) slot.bind = wr.bind;
  if (is_atomic(wr.opcode)) slot.atomic = wr.atomic;
  if (is_pair(wr.opcode)) slot.unsent = 2;
  if (is_read(wr.opcode)) slot.unsent = read_requests(wr.sgl);
  slot.unanswered = slot.unsent;
}

// [IBV-375]
std::error_code QueuePair::post_recv(const RecvWr& wr) {
  if (init().srq != nullptr) return make_error_code(Errc::kInvalidArgument);
  if (const auto error = impl_->port.receive_queue().post(wr)) return error;
  if (const auto driver = impl_->qp.current_driver()) {
    driver->receive_posted();
  } else {
    impl_->port.flush_posted();
  }
  return {};
}

std::vector<PostedReceive> QueuePairPort::withdraw_receives(QueuePair& qp) {
  return qp.impl_->port.receive_queue().withdraw();
}

// States ------------------------------------------------------------------------------------------

QpNum QueuePair::num() const { return impl_->qp.num; }
PdId QueuePair::pd() const { return impl_->qp.init.pd; }
QpState QueuePair::state() const { return impl_->port.state(); }
const QpInit& QueuePair::init() const { return impl_->qp.init; }
void QueuePairPort::announce(QueuePair& qp, Announce what) { qp.impl_->qp.announce(what); }
void QueuePairPort::announce_unanswered(QueuePair& qp) {
  qp.impl_->qp.gate.fail_oldest_request();
  announce(qp, Announce::kAll);
}
bool QueuePairPort::holds_requests(const QueuePair& qp) {
  return qp.impl_->qp.gate.holds_requests();
}
void QueuePair::set_inbound(Access inbound) { impl_->qp.inbound.store(inbound); }

void QueuePair::set_peer_timeouts(const PeerTimeouts& timeouts) {
  constexpr std::chrono::nanoseconds kNotSaid{-1};
  impl_->qp.answer_limit = mpa::Duration(timeouts.answer).count();
  impl_->qp.receive_hold = mpa::Duration(timeouts.receive_hold.value_or(kNotSaid)).count();
}

QpAttributes QueuePair::query() const {
  const QpShared& qp = impl_->qp;
  const std::lock_guard lock(qp.post);
  return {.state = state(),
          .ird = qp.ird,
          .ord = qp.ord,
          .extensions = qp.extensions,
          .send_immediate = qp.send_immediate,
          .send_outstanding = static_cast<std::size_t>(impl_->port.outstanding()),
          .recv_outstanding = qp.init.srq != nullptr ? 0 : impl_->port.receive_queue().size(),
          .terminate_sent = qp.terminate_sent,
          .terminate_received = qp.terminate_received,
          .local_error = qp.local_error.load(std::memory_order_acquire)};  // [VRB-15]
}

std::optional<std::chrono::steady_clock::time_point> QueuePairPort::receive_awaited_since(
    const QueuePair& qp) {
  const mpa::Duration since{qp.impl_->qp.receive_awaited_since.load(std::memory_order_relaxed)};
  if (since == mpa::Duration::zero() || qp.state() != QpState::kRts) return std::nullopt;
  const auto* const srq = qp.init().srq;
  const auto posted = srq != nullptr ? srq->size() : qp.impl_->port.receive_queue().size();
  return posted == 0 ? std::optional(mpa::TimePoint(since)) : std::nullopt;
}

std::error_code QueuePair::disconnect() {
  const auto driver = impl_->qp.current_driver();
  if (driver == nullptr || state() != QpState::kRts) return make_error_code(Errc::kWrongState);
  driver->disconnect();
  return {};
}

std::error_code QueuePair::terminate() {
  const auto driver = impl_->qp.current_driver();
  if (driver == nullptr || state() != QpState::kRts) return make_error_code(Errc::kWrongState);
  driver->terminate();
  return {};
}

std::error_code QueuePair::abort() {
  while (!impl_->port.end_unconnected(false)) {
    const auto driver = impl_->qp.driver_to_abort();
    // The connection has ended since end_unconnected() was called.
    if (driver == nullptr) continue;
    driver->abort();
    break;
  }
  return {};
}

bool QueuePairPort::depart(QueuePair& qp) {
  if (qp.impl_->port.end_unconnected(false)) return true;
  const auto driver = qp.impl_->qp.current_driver();
  if (driver != nullptr && !driver->depart()) return false;
  // If the connection has already ended and the queue pair is in Idle, move the queue pair to
  // Error.
  (void)qp.impl_->port.end_unconnected(false);
  return true;
}

std::error_code QueuePairPort::give_up(QueuePair& qp) {
  if (qp.impl_->port.end_unconnected(true)) return {};
  return make_error_code(Errc::kWrongState);
}

std::error_code QueuePair::reset() {
  if (impl_->qp.current_driver() != nullptr) return make_error_code(Errc::kWrongState);
  impl_->port.flush_posted();
  impl_->port.event(QpEvent::kReset);
  impl_->empty_ring();
  if (impl_->qp.init.drop_failed) {
    impl_->qp.announce_successes();
  } else {
    impl_->qp.announce(Announce::kAll);
  }
  impl_->drop_failed();
  return {};
}

// Frees the slots of all finished requests, including requests that have no completion to poll.
void QueuePair::Impl::empty_ring() {
  CompletionQueuePort::forget(*qp.init.send_cq, &ring.reaped);
  const std::lock_guard lock(qp.post);
  ring.reaped.store(ring.retired.load());
}

void QueuePair::Impl::drop_failed() const {
  if (!qp.init.drop_failed) return;
  CompletionQueuePort::drop_failed(*qp.init.send_cq, qp.num);
  CompletionQueuePort::drop_failed(*qp.init.recv_cq, qp.num);
}

std::error_code QueuePair::set_ord(std::uint16_t ord) {
  QpShared& qp = impl_->qp;
  const std::lock_guard lock(qp.post);
  if (state() != QpState::kIdle && state() != QpState::kRts) {
    return make_error_code(Errc::kWrongState);  // [VRB-2] [VRB-13]
  }
  if (state() == QpState::kRts && ord > qp.ord) return make_error_code(Errc::kOrdTooLarge);
  // The limit also applies to the present connection. [VRB-25]
  qp.ord_limit = ord;
  qp.ord = std::min(qp.ord.load(), ord);
  return {};
}

}  // namespace iwarp::verbs
