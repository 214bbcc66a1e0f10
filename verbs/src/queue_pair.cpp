// SPDX-License-Identifier: Apache-2.0
// The consumer's half of a queue pair, its states, and flushing (verbs draft sections 6.2 and 8).
#include "iwarp/verbs/queue_pair.hpp"

#include <algorithm>
#include <cstring>

#include "queue_pair_impl.hpp"

namespace iwarp::verbs {
namespace {

bool carries_payload(WrOpcode opcode) {
  return opcode == WrOpcode::kSend || opcode == WrOpcode::kSendInvalidate ||
         opcode == WrOpcode::kWrite || opcode == WrOpcode::kWriteImmediate;
}

// What a request of RFC 7306 has to look like.
std::error_code check_extension(const SendWr& wr) {
  const bool atomic = wr.opcode == WrOpcode::kFetchAdd || wr.opcode == WrOpcode::kCmpSwap;
  if (atomic && (wr.sgl.size() != 1 || wr.sgl[0].length != rdmap::kAtomicWord)) {
    return make_error_code(Errc::kAtomicNeedsOneWord);
  }
  if (wr.opcode == WrOpcode::kImmediate && !wr.sgl.empty()) {
    return make_error_code(Errc::kInvalidArgument);
  }
  return {};
}

bool flushes(QpState state) {
  return state == QpState::kError || state == QpState::kTerminate || state == QpState::kClosing;
}

}  // namespace

QueuePair::QueuePair(QpNum num, const QpInit& init, StagTable& stags,
                     std::function<void(const AsyncEvent&)> on_event)
    : num_(num),
      init_(init),
      inbound_(init.inbound),
      stags_(stags),
      on_event_(std::move(on_event)),
      impl_(std::make_unique<Impl>(init)) {
  init_.send_cq->attach();
  init_.recv_cq->attach();
  if (init_.srq != nullptr) init_.srq->attach();
}

QueuePair::~QueuePair() {
  stags_.invalidate_windows_of(num_);
  init_.send_cq->forget(&impl_->reaped);
  init_.recv_cq->forget(&impl_->rq.reaped());
  init_.recv_cq->forget(&impl_->srq_reaped);
  drop_failed();
  init_.send_cq->detach();
  init_.recv_cq->detach();
  if (init_.srq != nullptr) init_.srq->detach();
}

// Posting -----------------------------------------------------------------------------------------

std::error_code QueuePair::post_send(const SendWr& wr) {
  std::size_t posted = 0;
  return post_send(std::span(&wr, 1), posted);
}

std::error_code QueuePair::post_send(std::span<const SendWr> wrs, std::size_t& posted) {
  std::error_code error;
  std::shared_ptr<QpDriver> driver;
  posted = 0;
  {
    const std::lock_guard lock(impl_->post);
    for (const SendWr& wr : wrs) {
      error = check(wr);
      if (!error) error = enqueue(wr);
      if (error) break;  // Earlier ones stay posted. [VRB-41]
      ++posted;
    }
    driver = impl_->driver;
  }
  if (posted != 0) work_posted(driver.get());
  return error;
}

std::error_code QueuePair::post_all(std::span<const SendWr> wrs) {
  std::shared_ptr<QpDriver> driver;
  {
    const std::lock_guard lock(impl_->post);
    for (const SendWr& wr : wrs) {
      if (const auto error = check(wr)) return error;
    }
    auto sequence = impl_->posted.load(std::memory_order_relaxed);
    const auto taken = sequence - impl_->reaped.load(std::memory_order_acquire);
    if (impl_->max_send_wr - taken < wrs.size()) return make_error_code(Errc::kQueueFull);
    for (const SendWr& wr : wrs) {
      if (impl_->new_slot(sequence++, has(wr.flags, SendFlags::kInline)) == nullptr) {
        return std::make_error_code(std::errc::not_enough_memory);
      }
    }
    for (const SendWr& wr : wrs) (void)enqueue(wr);
    driver = impl_->driver;
  }
  if (!wrs.empty()) work_posted(driver.get());
  return {};
}

void QueuePair::work_posted(QpDriver* driver) {
  if (driver != nullptr) {
    driver->posted();
  } else {
    flush_posted();
  }
}

std::error_code QueuePair::check(const SendWr& wr) const {
  const QpLimits& limits = init_.limits;
  if (wr.sgl.size() > limits.max_send_sge) return make_error_code(Errc::kTooManySge);
  std::uint64_t total = 0;
  for (const Sge& sge : wr.sgl) total += sge.length;
  if (total > UINT32_MAX) return make_error_code(Errc::kMessageTooLong);  // [DDP-38]
  const bool read = wr.opcode == WrOpcode::kRead || wr.opcode == WrOpcode::kReadInvalidate;
  // One sink buffer. [RDMAP-47]
  if (read && wr.sgl.size() > 1) return make_error_code(Errc::kReadNeedsOneSge);
  if (wr.opcode == WrOpcode::kReadInvalidate && wr.sgl.empty()) {
    return make_error_code(Errc::kReadNeedsOneSge);
  }
  if (is_extension(wr.opcode)) {
    // In Idle nobody knows yet what the peer will agree to. [EXT-1]
    if (state() == QpState::kRts && !impl_->extensions) return make_error_code(Errc::kNotAgreed);
    if (const auto error = check_extension(wr)) return error;
  }
  if (has(wr.flags, SendFlags::kInline)) {
    if (!carries_payload(wr.opcode)) return make_error_code(Errc::kInvalidArgument);
    if (total > limits.max_inline) return make_error_code(Errc::kInlineTooLong);
  }
  return {};
}

std::error_code QueuePair::enqueue(const SendWr& wr) {
  const auto sequence = impl_->posted.load(std::memory_order_relaxed);
  if (sequence - impl_->reaped.load(std::memory_order_acquire) >= impl_->max_send_wr) {
    return make_error_code(Errc::kQueueFull);  // [VRB-42]
  }
  const bool with_inline = has(wr.flags, SendFlags::kInline);
  SendSlot* const taken = impl_->new_slot(sequence, with_inline);
  if (taken == nullptr) return std::make_error_code(std::errc::not_enough_memory);
  SendSlot& slot = *taken;
  slot.wr_id = wr.wr_id;
  slot.opcode = wr.opcode;
  slot.flags = wr.flags;
  slot.stage = SendSlot::Stage::kPosted;
  slot.status = WcStatus::kSuccess;
  slot.sgl = SgeList(wr.sgl.begin(), wr.sgl.end());
  slot.remote = wr.remote;
  slot.invalidate = wr.invalidate;
  slot.registration = wr.registration;
  slot.bind = wr.bind;
  slot.atomic = wr.atomic;
  slot.immediate = wr.immediate;
  slot.unsent = wr.opcode == WrOpcode::kWriteImmediate ? 2 : 1;
  slot.length = 0;
  for (const Sge& sge : wr.sgl) slot.length += sge.length;
  if (with_inline) {
    auto* to = slot.inline_data;
    for (const Sge& sge : wr.sgl) {
      if (sge.length != 0) std::memcpy(to, sge.address, sge.length);
      to += sge.length;
    }
  }
  impl_->posted.store(sequence + 1, std::memory_order_release);
  return {};
}

std::error_code QueuePair::post_recv(const RecvWr& wr) {
  if (init_.srq != nullptr) return make_error_code(Errc::kInvalidArgument);
  if (const auto error = impl_->rq.post(wr)) return error;
  if (const auto current = driver()) {
    current->receive_posted();
  } else {
    flush_posted();
  }
  return {};
}

// States ------------------------------------------------------------------------------------------

std::shared_ptr<QpDriver> QueuePair::driver() const {
  const std::lock_guard lock(impl_->post);
  return impl_->driver;
}

QpAttributes QueuePair::query() const {
  const std::lock_guard lock(impl_->post);
  return {
      .state = state(),
      .ird = impl_->ird,
      .ord = impl_->ord,
      .extensions = impl_->extensions,
      .send_outstanding = static_cast<std::size_t>(impl_->posted.load() - impl_->retired.load()),
      .recv_outstanding = init_.srq != nullptr ? 0 : impl_->rq.size(),
      .terminate_sent = impl_->terminate_sent,
      .terminate_received = impl_->terminate_received};  // [VRB-15]
}

std::error_code QueuePair::disconnect() {
  const auto current = driver();
  if (current == nullptr || state() != QpState::kRts) return make_error_code(Errc::kWrongState);
  current->disconnect();
  return {};
}

std::error_code QueuePair::terminate() {
  const auto current = driver();
  if (current == nullptr || state() != QpState::kRts) return make_error_code(Errc::kWrongState);
  current->terminate();
  return {};
}

std::error_code QueuePair::abort() {
  if (const auto current = driver()) {
    current->abort();
  } else {
    event(QpEvent::kLowerLayerLost);
  }
  return {};
}

std::error_code QueuePair::reset() {
  if (driver() != nullptr) return make_error_code(Errc::kWrongState);
  flush_posted();
  if (!bytes::step(kQpEdges, state(), QpEvent::kReset)) return make_error_code(Errc::kWrongState);
  event(QpEvent::kReset);
  drop_failed();
  return {};
}

void QueuePair::drop_failed() {
  if (!init_.drop_failed) return;
  init_.send_cq->drop_failed(num_);
  init_.recv_cq->drop_failed(num_);
}

std::error_code QueuePair::set_ord(std::uint16_t ord) {
  const std::lock_guard lock(impl_->post);
  if (state() != QpState::kIdle && state() != QpState::kRts) {
    return make_error_code(Errc::kWrongState);  // [VRB-2] [VRB-13]
  }
  if (state() == QpState::kRts && ord > impl_->ord) return make_error_code(Errc::kOrdTooLarge);
  // [VRB-25]
  impl_->ord_limit = ord;
  impl_->ord = std::min(impl_->ord.load(), ord);
  return {};
}

bool QueuePair::connected(std::shared_ptr<QpDriver> driver, std::uint16_t ird, std::uint16_t ord,
                          bool extensions) {
  const std::lock_guard lock(impl_->post);
  if (state() != QpState::kIdle || impl_->driver != nullptr) return false;
  impl_->driver = std::move(driver);
  impl_->ird = ird;
  impl_->ord = std::min(ord, impl_->ord_limit);
  impl_->extensions = extensions;
  impl_->terminate_sent.reset();
  impl_->terminate_received.reset();
  impl_->local_failure = false;
  state_.store(QpState::kRts, std::memory_order_release);
  return true;
}

void QueuePair::event(QpEvent event) {
  const QpState before = state();
  const auto step = bytes::step(kQpEdges, before, event);
  const bool over = event == QpEvent::kLowerLayerClosed || event == QpEvent::kLowerLayerLost;
  // What the table does not have changes nothing. [VRB-5] An end in Error still lets go of the
  // connection.
  if (!step && !over) return;
  const QpState next = step.value_or(before);
  // A clean close flushes the receives, and Sends posted too late, before the queue pair is Idle
  // again. [VRB-18] [DDP-57]
  if (over && before == QpState::kClosing) flush();
  state_.store(next, std::memory_order_release);
  if (next == QpState::kTerminate || next == QpState::kError)
    flush();  // [VRB-14] [RDMAP-86] [DDP-63]
  if (over) {
    std::shared_ptr<QpDriver> gone;  // released without the lock
    const std::lock_guard lock(impl_->post);
    gone.swap(impl_->driver);
  }
  if (over) flush_posted();
  if (before == QpState::kRts && event == QpEvent::kLowerLayerLost) {
    async(AsyncEventType::kLlpConnectionLost);
  }
  if (before == QpState::kClosing) {
    async(next == QpState::kIdle ? AsyncEventType::kLlpCloseComplete
                                 : AsyncEventType::kBadClose);  // [VRB-17] [VRB-18]
  }
  if (init_.srq != nullptr && next == QpState::kError && before != QpState::kError) {
    async(AsyncEventType::kLastReceive);  // The one it held was flushed above.
  }
}

void QueuePair::async(AsyncEventType type, const std::optional<rdmap::Terminate>& terminate) {
  if (!on_event_) return;
  on_event_({.type = type, .qp_num = num_, .object = nullptr, .terminate = terminate});
}

void QueuePair::terminate_sent(const rdmap::Terminate& terminate) {
  {
    const std::lock_guard lock(impl_->post);
    impl_->terminate_sent = terminate;
  }
  // A Send that was too long for its buffer is that receive's error. [VRB-38]
  const bool too_long = terminate.fault == ddp::kUntaggedTooLong &&
                        rdmap::subject_of(terminate) == rdmap::Subject::kSend;
  if (too_long && impl_->receive) {
    complete_receive({.status = WcStatus::kLocalLength, .opcode = WcOpcode::kRecv});
  }
  async(AsyncEventType::kTerminateSent, terminate);  // [RDMAP-91] [DDP-91] [VRB-55]
}

void QueuePair::terminate_received(const rdmap::Terminate& terminate) {
  {
    const std::lock_guard lock(impl_->post);
    impl_->terminate_received = terminate;
  }
  blame(terminate);
  event(QpEvent::kTerminateReceived);
  async(AsyncEventType::kTerminateReceived, terminate);  // [RDMAP-62]
}

// Responses come in order: an error about a Read is the oldest unfinished Read's, one about an
// atomic the oldest atomic's. [VRB-54] [EXT-61]
void QueuePair::blame(const rdmap::Terminate& terminate) {
  const auto subject = rdmap::subject_of(terminate);
  const bool read = subject == rdmap::Subject::kRead;
  const bool atomic = subject == rdmap::Subject::kAtomic;
  for (auto s = impl_->retired.load(); s < impl_->started; ++s) {
    SendSlot& slot = impl_->slot(s);
    if (!(read && slot.is_read()) && !(atomic && slot.is_atomic())) continue;
    if (slot.stage == SendSlot::Stage::kDone) continue;
    const bool access = terminate.fault.layer == bytes::Layer::kRdma && terminate.fault.type == 1;
    slot.status = access ? WcStatus::kRemoteAccess : WcStatus::kRemoteOperation;
    return;
  }
}

// Flushing ----------------------------------------------------------------------------------------

void QueuePair::flush_posted() {
  if (flushes(state()) && state() != QpState::kClosing) flush();
}

void QueuePair::flush() {
  const std::lock_guard lock(impl_->lower);
  impl_->waiting_for_pins = false;
  impl_->reads_under_way = 0;
  impl_->immediate_due.reset();
  // In order; one may carry an error. What was sent behind something unfinished is flushed with it:
  // a success stands for all before it. [VRB-14] [VRB-43]
  bool unfinished = false;
  for (auto s = impl_->retired.load(); s < impl_->posted.load(std::memory_order_acquire); ++s) {
    SendSlot& slot = impl_->slot(s);
    unfinished |= slot.stage != SendSlot::Stage::kDone;
    if (unfinished && slot.status == WcStatus::kSuccess) slot.status = WcStatus::kWrFlush;
    complete_send(slot, s);
    impl_->started = std::max(impl_->started, s + 1);
  }
  flush_receives();
}

void QueuePair::flush_receives() {
  impl_->target.release();
  impl_->source.release();
  impl_->invalidating.reset();
  const WorkCompletion flushed{.status = WcStatus::kWrFlush, .opcode = WcOpcode::kRecv};
  if (impl_->receive) complete_receive(flushed);
  // Receives of an SRQ belong to the other queue pairs as well. [VRB-19]
  if (init_.srq != nullptr) return;
  while (take_receive()) complete_receive(flushed);
}

void QueuePair::push(CompletionQueue& cq, const WorkCompletion& wc, bool notify,
                     CompletionQueue::Reaped reaped) {
  ++impl_->completions;
  const bool known = cq.overflowed();
  if (cq.push(wc, notify, reaped)) return;
  if (on_event_ && !known) {
    on_event_({.type = AsyncEventType::kCqOverflow, .qp_num = num_, .object = &cq});
  }
  impl_->local_failure = true;  // This queue pair is lost, others are not. [RDMAP-117] [SEC-29]
}

}  // namespace iwarp::verbs
