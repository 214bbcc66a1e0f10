// SPDX-License-Identifier: Apache-2.0
// InboundSide: the inbound half of a queue pair. It checks the peer's access rights again for every
// segment.
#include "queue_pair/inbound_side.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

#include "iwarp/bytes/touch.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {

using bytes::Check;
using bytes::fault;

namespace {

inline WcOpcode receive_opcode(const rdmap::ReceivedSend& send) {
  if (rdmap::is_immediate(send.opcode)) return WcOpcode::kRecvImmediate;
  return send.immediate != 0 ? WcOpcode::kRecvSendImmediate : WcOpcode::kRecv;
}

}  // namespace

// Memory ------------------------------------------------------------------------------------------

// [IBV-474, IBV-475]
inline std::expected<void, AccessError> InboundSide::acquire(const AccessRequest& who, Stag stag,
                                                             rdmap::TaggedOffset to,
                                                             std::uint32_t length,
                                                             Grant& out) const {
  if (!has(qp_.inbound.load(), who.need)) return std::unexpected(AccessError::kNotEnabled);
  return qp_.stags.acquire(who, stag, to.value, length, out);
}

std::unexpected<AccessError> InboundSide::refused(RefusedMemory::User user, Stag stag,
                                                  rdmap::TaggedOffset to, std::uint64_t length,
                                                  AccessError why) {
  qp_.note(RefusedMemory{.user = user, .stag = stag, .to = to.value, .length = length, .why = why});
  return std::unexpected(why);
}

// [IBV-327, IBV-511]
std::expected<void, AccessError> InboundSide::write_target(Stag stag, rdmap::TaggedOffset to,
                                                           std::uint32_t length, bytes::Span& out) {
  const auto judged = acquire(to_write_, stag, to, length, target_);
  if (!judged) {
    if (!qp_.is_unreliable) {
      return refused(RefusedMemory::User::kWrite, stag, to, length, judged.error());
    }
    written_ = {.stag = stag, .end = to.value + length, .size = kDropped};
    out = waste().first(length);
    return {};
  }
  octets_placed_ += length;
  const bool goes_on = written_.end == to.value && written_.stag == stag;
  written_ = {
      .stag = stag, .end = to.value + length, .size = length + (goes_on ? written_.size : 0)};
  out = target_.memory();
  return {};
}

// [IBV-299]
std::expected<bytes::View, AccessError> InboundSide::read_source(Stag stag, rdmap::TaggedOffset to,
                                                                 std::uint32_t length) {
  const auto judged = acquire(to_read_, stag, to, length, source_);
  if (!judged) return refused(RefusedMemory::User::kRead, stag, to, length, judged.error());
  return bytes::View(source_.memory());
}

std::expected<std::byte*, AccessError> InboundSide::atomic_word(
    const rdmap::AtomicRequest& request) {
  const auto refused_for = [&](AccessError why) {
    return refused(RefusedMemory::User::kAtomic, request.stag, request.to, rdmap::kAtomicWord, why);
  };
  // The Grant is a member, because a local Grant would not be released after a memory fault.
  const auto judged = acquire(to_change_, request.stag, request.to, rdmap::kAtomicWord, source_);
  if (!judged) return refused_for(judged.error());
  std::byte* const memory = source_.memory().data();
  // If the region begins at an unaligned address, the memory is unaligned even if the TO is
  // aligned. [EXT-9] [EXT-15]
  if (virtual_address(memory) % rdmap::kAtomicWord != 0) {
    source_.release();
    return refused_for(AccessError::kMisaligned);
  }
  return memory;
}

// Executes an atomic of the peer. The compare-exchange makes reading and writing one atomic step
// with respect to all connections and to threads of the application. [EXT-4] [EXT-40] [EXT-42]
// [EXT-67] [IBV-515, IBV-516, IBV-517]
std::expected<std::uint64_t, AccessError> InboundSide::atomic(const rdmap::AtomicRequest& request) {
  const auto memory = atomic_word(request);
  if (!memory) return std::unexpected(memory.error());
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(*memory));
  bytes::begin_touch();
  std::uint64_t original = word.load();
  std::uint64_t next = 0;
  do {
    next = rdmap::apply(request, original);
  } while (next != original && !word.compare_exchange_weak(original, next));
  bytes::end_touch();
  source_.release();
  return original;
}

// Sends and Immediates ----------------------------------------------------------------------------

Check InboundSide::receive_buffer(ddp::UntaggedBuffer& out) {
  if (has_receive_) {  // The Immediate of this Send has consumed the receive.
    for (const Grant& grant : receive_grants_) out.pieces.push_back(grant.memory());
    if (missing_) out.beyond = ddp::UntaggedBuffer::Beyond::kUnusable;
    is_spared_ = false;
    return {};
  }
  if (!take_receive()) {
    if (drops_) {
      out.beyond = ddp::UntaggedBuffer::Beyond::kDropped;
      out.waste = waste();
      return {};
    }
    out.ready = false;
    if (hold_on_empty_) return {};
    return fault(ddp::kUntaggedNoBuffer);
  }
  if (!resolve_receive(out.pieces)) [[unlikely]]
    out.beyond = ddp::UntaggedBuffer::Beyond::kUnusable;
  return {};
}

inline bool InboundSide::take_receive() {
  has_receive_ = qp_.init.srq != nullptr ? take_shared() : rq_.take(receive_);
  const auto awaited = qp_.receive_awaited_since.load(std::memory_order_relaxed);
  if (awaited != 0 && has_receive_) [[unlikely]] {
    qp_.receive_awaited_since.store(0, std::memory_order_relaxed);
    drops_ = false;
  }
  return has_receive_;
}

bool InboundSide::take_shared() {
  SharedReceiveQueue& srq = *qp_.init.srq;
  // The limit for each queue pair prevents one peer from consuming all shared receives. [SEC-22]
  const auto cap = srq.limits().per_qp;
  const auto above_cap = [&] { return cap != 0 && shared_taken_ - shared_reaped_.value() >= cap; };
  if (above_cap()) {
    if (!hold_on_empty_) return false;
    shared_reaped_.await(qp_.own_driver()->weak_from_this());
    if (above_cap()) return false;
  }
  bool taken = SharedReceiveQueuePort::take(srq, receive_);
  if (!taken && hold_on_empty_) {
    taken =
        SharedReceiveQueuePort::take_or_await(srq, qp_.own_driver()->weak_from_this(), receive_);
  }
  if (taken) ++shared_taken_;
  return taken;
}

// Pins the buffers of the receive. Returns false if a buffer cannot be used, or not all of it. That
// is an error only if the message has octets for it, as with rxe and siw. [IBV-316, IBV-326,
// IBV-508, IBV-540, IBV-542]
inline bool InboundSide::resolve_receive(bytes::Scatter& out) {
  assert(receive_grants_.empty());  // cleared when the previous receive completed
  for (const Sge& sge : receive_.sgl) {
    if (sge.length == 0) continue;
    Grant& grant = receive_grants_.emplace_back();
    const auto at = virtual_address(sge.address);
    if (const auto judged = qp_.stags.acquire(to_receive_, sge.lkey, at, sge.length, grant);
        !judged) {
      use_part(sge, judged.error(), out);
      return false;
    }
    out.push_back(grant.memory());
  }
  return true;
}

// Uses the octets of `sge` that precede the end of its region, if its first octet can be used.
void InboundSide::use_part(const Sge& sge, AccessError why, bytes::Scatter& out) {
  const auto at = virtual_address(sge.address);
  missing_ = {.stag = sge.lkey, .to = at, .length = sge.length, .why = why};
  Grant& grant = receive_grants_.back();
  if (!qp_.stags.acquire(to_receive_, sge.lkey, at, 1, grant)) return receive_grants_.pop_back();
  const Region& region = *grant.region();
  const auto inside = std::min<std::uint64_t>(region.local_base + region.length - at, sge.length);
  (void)qp_.stags.acquire(to_receive_, sge.lkey, at, static_cast<std::uint32_t>(inside), grant);
  out.push_back(grant.memory());
}

// [IBV-298, IBV-509, IBV-510, IBV-512]
Check InboundSide::send_received(const rdmap::ReceivedSend& send) {
  if ((!has_receive_ || written_.size >= kDropped) && is_dropped(send)) [[unlikely]]
    return {};
  octets_placed_ += send.length;
  WorkCompletion wc{.status = WcStatus::kSuccess,
                    .opcode = receive_opcode(send),
                    .byte_len = send.length,
                    .solicited = send.solicited,
                    .invalidated = send.invalidate,
                    .invalidated_stag = send.invalidated,
                    .written = static_cast<std::uint32_t>(
                        std::min<std::uint64_t>(std::exchange(written_.size, 0), UINT32_MAX)),
                    .immediate = send.immediate};
  if (wc.opcode == WcOpcode::kRecvSendImmediate) wc.immediate &= ~std::uint64_t{rdmap::kOfNextSend};
  if (send.invalidate) {
    // [IBV-519]
    receive_grants_.clear();  // The grants of this receive may pin the STag to be invalidated.
    // Invalidate the STag after the payload was delivered and before the receive completes.
    // [VRB-47] [RDMAP-58]
    const auto done =
        qp_.stags.invalidate(qp_.init.pd, qp_.num, send.invalidated, true, qp_.own_driver());
    if (done == StagTable::Invalidated::kRefused) return fault(rdmap::kCannotInvalidate);
    if (done == StagTable::Invalidated::kPinned) {
      invalidating_ = wc;  // Other users still pin the STag; finish_invalidate() waits for them.
      qp_.own_driver()->break_pins(send.invalidated);
      return {};
    }
  }
  complete_receive(wc);
  return {};
}

// The Immediate of a Write that was dropped consumes no receive: the next message uses the receive.
bool InboundSide::is_dropped(const rdmap::ReceivedSend& send) {
  const bool follows_dropped = std::exchange(written_.size, 0) >= kDropped;
  if (!has_receive_) return true;
  is_spared_ = follows_dropped && rdmap::is_immediate(send.opcode);
  return is_spared_;
}

bytes::Span InboundSide::waste() {
  waste_.resize(kLongestSegment);
  return waste_;
}

bool InboundSide::try_invalidate() {
  WorkCompletion wc = *invalidating_;
  // The STag has been invalid since the Send arrived; other users may still pin its memory.
  // [SEC-14]
  const auto done =
      qp_.stags.invalidate(qp_.init.pd, qp_.num, wc.invalidated_stag, false, qp_.own_driver());
  if (done == StagTable::Invalidated::kPinned) return false;
  invalidating_.reset();
  complete_receive(wc);
  return true;
}

void InboundSide::blame_missing() {
  if (!has_receive_ || !missing_) return;
  qp_.note(*missing_);
  blame_receive(WcStatus::kLocalProtection);
}

void InboundSide::blame_receive(WcStatus status) {
  if (!has_receive_) return;
  receive_grants_.clear();
  blame_ = status;
  EndedWork failed{.queue = WorkQueue::kReceive, .wr_id = receive_.wr_id, .status = status};
  for (const Sge& sge : receive_.sgl) failed.length += sge.length;
  qp_.note(failed);
}

void InboundSide::flush_blamed() {
  const auto blame = std::exchange(blame_, std::nullopt);
  if (blame) flush_receive(*blame);
}

void InboundSide::flush_receive(WcStatus status) {
  WorkCompletion wc{.status = status, .opcode = WcOpcode::kRecv};
  complete_receive(wc);
}

// [IBV-305, IBV-307, IBV-377]
void InboundSide::flush() {
  target_.release();
  source_.release();
  invalidating_.reset();
  if (has_receive_) flush_receive(WcStatus::kWrFlush);
  // Do not flush receives of an SRQ, which belong to other queue pairs as well. [VRB-19]
  if (qp_.init.srq != nullptr) return;
  while (take_receive()) flush_receive(WcStatus::kWrFlush);
}

bool InboundSide::holds(const Region& region) const {
  const auto names = [&region](const Grant& grant) { return grant.region() == &region; };
  return names(target_) || names(source_) ||
         std::any_of(receive_grants_.begin(), receive_grants_.end(), names);
}

bool InboundSide::revoke(const Region& region) {
  const auto names = [&region](const Grant& grant) { return grant.region() == &region; };
  if (names(target_)) target_.release();
  if (names(source_)) source_.release();
  if (std::none_of(receive_grants_.begin(), receive_grants_.end(), names)) return false;
  receive_grants_.clear();
  return true;
}

void InboundSide::memory_gone(const std::byte* address) {
  const auto has_it = [address](const Grant& grant) { return grant.has(address); };
  if (std::ranges::any_of(receive_grants_, has_it)) blame_receive(WcStatus::kLocalProtection);
}

// [IBV-371]
inline void InboundSide::complete_receive(WorkCompletion& wc) {
  wc.wr_id = receive_.wr_id;
  wc.qp_num = qp_.num;
  has_receive_ = false;
  if (missing_) [[unlikely]]
    missing_.reset();
  receive_grants_.clear();
  const Reaped reaped = qp_.init.srq != nullptr
                            ? Reaped{.counter = &shared_reaped_, .value = shared_taken_}
                            : Reaped{.counter = &rq_.reaped(), .value = rq_.taken()};
  qp_.push(*qp_.init.recv_cq, wc, wc.solicited || wc.status != WcStatus::kSuccess, reaped);
}

}  // namespace iwarp::verbs
