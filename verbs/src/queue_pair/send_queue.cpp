// SPDX-License-Identifier: Apache-2.0
// SendQueue: starts requests in the order in which they were posted, and completes them in the same
// order, even if a later request is finished first.
#include "queue_pair/send_queue.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "iwarp/bytes/place.hpp"
#include "iwarp/bytes/touch.hpp"

namespace iwarp::verbs {

namespace {

// The message that a request sends, without and with a solicited event, and the opcode of the
// request's completion. A local request sends no message.
struct OpcodeRow {
  WrOpcode opcode;
  rdmap::Opcode message;
  rdmap::Opcode solicited;
  WcOpcode completion;
};

using rdmap::Opcode;
constexpr std::array kOpcodes{
    OpcodeRow{WrOpcode::kSend, Opcode::kSend, Opcode::kSendSolicited, WcOpcode::kSend},
    OpcodeRow{WrOpcode::kSendInvalidate, Opcode::kSendInvalidate, Opcode::kSendSolicitedInvalidate,
              WcOpcode::kSend},
    OpcodeRow{WrOpcode::kWrite, Opcode::kWrite, Opcode::kWrite, WcOpcode::kWrite},
    OpcodeRow{WrOpcode::kRead, Opcode::kReadRequest, Opcode::kReadRequest, WcOpcode::kRead},
    OpcodeRow{WrOpcode::kReadInvalidate, Opcode::kReadRequest, Opcode::kReadRequest,
              WcOpcode::kRead},
    OpcodeRow{WrOpcode::kLocalInvalidate, {}, {}, WcOpcode::kLocalInvalidate},
    OpcodeRow{WrOpcode::kFastRegister, {}, {}, WcOpcode::kFastRegister},
    OpcodeRow{WrOpcode::kBindWindow, {}, {}, WcOpcode::kBindWindow},
    OpcodeRow{WrOpcode::kFetchAdd, Opcode::kAtomicRequest, Opcode::kAtomicRequest,
              WcOpcode::kFetchAdd},
    OpcodeRow{WrOpcode::kCmpSwap, Opcode::kAtomicRequest, Opcode::kAtomicRequest,
              WcOpcode::kCmpSwap},
    OpcodeRow{WrOpcode::kImmediate, Opcode::kImmediate, Opcode::kImmediateSolicited,
              WcOpcode::kSend},
    // `message` is the message of the Write or Send. The Immediate after the Write, or before the
    // Send, is a separate message.
    OpcodeRow{WrOpcode::kWriteImmediate, Opcode::kWrite, Opcode::kWrite, WcOpcode::kWrite},
    OpcodeRow{WrOpcode::kSendImmediate, Opcode::kSend, Opcode::kSendSolicited, WcOpcode::kSend},
};

// Large Reads start in groups, so that each end wakes up once for a group instead of once for a
// Read. A Read of at least kLargeRead octets waits for its group if the answers to earlier Reads
// that are still to arrive have at least kKeepsPeerBusy octets. Sending these answers keeps the
// peer busy during the wait. The group starts when it has kGroup octets, or when it has at least
// 1/kGroupShare of the octets of all Reads that are in flight or waiting.
constexpr std::uint64_t kLargeRead = 16 * 1024;
constexpr std::uint64_t kKeepsPeerBusy = 256 * 1024;
constexpr std::uint64_t kGroup = 256 * 1024;
constexpr std::uint64_t kGroupShare = 4;

constexpr const OpcodeRow& row_of(WrOpcode opcode) {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

constexpr bool in_order() {
  for (std::size_t i = 0; i < kOpcodes.size(); ++i) {
    if (kOpcodes[i].opcode != static_cast<WrOpcode>(i)) return false;
  }
  return true;
}
static_assert(in_order());

// [IBV-525]
Opcode message_opcode(WrOpcode opcode, SendFlags flags) {
  const OpcodeRow& row = row_of(opcode);
  return has(flags, SendFlags::kSolicited) ? row.solicited : row.message;
}

}  // namespace

bool SendQueue::next_request(bool read_credit, rdmap::Request& out) {
  if (qp_.state != QpState::kRts) return false;  // In Idle no request is processed. [VRB-6]
  // No request starts after a request has failed. [VRB-54]
  if (qp_.local_failure != LocalFailure::kNone && !flush_stopped()) return false;
  if (waits_for_memory_) retire();
  if (more_due_) return take_next(read_credit, out);
  // Requests start in order, one at a time. [VRB-43]
  if (started_ == ring_.posted.load(std::memory_order_acquire)) return false;
  SendSlot& slot = ring_.slot(started_);
  return slot.is_plain ? start_plain(slot, out) : next_other(read_credit, out);
}

// Starts the next request. The caller has checked that there is one and that it is not plain.
bool SendQueue::next_other(bool read_credit, rdmap::Request& out) {
  while (started_ < ring_.posted.load(std::memory_order_acquire)) {
    SendSlot& slot = ring_.slot(started_);
    if (slot.is_plain) return start_plain(slot, out);
    if (!may_start(slot, read_credit)) return false;
    if (!slot.is_local()) return start_other(slot, out);
    // A local request takes effect before any later request is executed. [VRB-49] [IBV-196]
    if (!run_local(slot)) return false;
    ++started_;
    finish(slot);
  }
  return false;
}

inline bool SendQueue::start_plain(SendSlot& slot, rdmap::Request& out) {
  out.opcode = message_opcode(slot.opcode, slot.flags);
  out.length = slot.length;
  out.stag = slot.remote.rkey;
  out.to = rdmap::TaggedOffset{slot.remote.to};
  if (!pin_buffers(slot, reader_, out.payload)) return false;
  slot.stage = SendSlot::Stage::kStarted;
  out.cookie = started_++;
  return true;
}

bool SendQueue::start_other(SendSlot& slot, rdmap::Request& out) {
  if (!permitted(slot)) return false;
  if (!pin_buffers(slot, slot.is_answered() ? writer_ : reader_, out.payload)) return false;
  slot.stage = SendSlot::Stage::kStarted;
  out.cookie = started_++;
  if (slot.is_answered()) ++reads_under_way_;
  if (slot.is_read()) read_octets_ += slot.length;
  if (slot.is_answered()) slot.msn = ++acks_.last_request;
  fill_request(slot, out);
  out.atomic.id = static_cast<std::uint32_t>(out.cookie);  // unique among slots in use [EXT-37]
  if (slot.unsent > 1) make_first(slot, out);
  return true;
}

// [IBV-522, IBV-523]
bool SendQueue::may_start(const SendSlot& slot, bool read_credit) {
  // A read fence waits until every earlier Read and atomic is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kFence) && reads_under_way_ != 0) return false;
  // A local fence waits until every earlier request is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kLocalFence) && ring_.retired.load() != started_) {
    return false;
  }
  return !slot.is_answered() || (may_read(read_credit) && !awaits_group(slot));
}

// Returns whether the next request is a Read that waits for its group. The answers to earlier Reads
// end the wait, so it needs no timer. If any other request has been posted behind the Read, the
// Read does not wait: the application or the peer may be waiting for that request.
bool SendQueue::awaits_group(const SendSlot& slot) {
  if (!slot.is_read() || read_octets_ < kKeepsPeerBusy || started_ < group_end_) return false;
  const auto posted = ring_.posted.load(std::memory_order_acquire);
  std::uint64_t waiting = 0;
  for (auto s = started_; s < posted; ++s) {
    const SendSlot& next = ring_.slot(s);
    waiting += next.length;
    const bool is_full = waiting >= kGroup || kGroupShare * waiting >= read_octets_ + waiting;
    if (!is_full && next.is_read() && next.length >= kLargeRead) continue;
    group_end_ = posted;
    return false;
  }
  return true;
}

// Returns whether another Read or atomic may start. If there is no read credit or the ORD is used
// up, returns false, and the queue stalls until a response arrives. With an ORD of 0 returns true,
// so that the request fails in permitted(). [VRB-23] [IBV-476]
bool SendQueue::may_read(bool read_credit) const {
  return qp_.ord == 0 || (read_credit && reads_under_way_ < qp_.ord);
}

// Executes a local request. Returns false if it has to wait or has failed. [IBV-197, IBV-318]
bool SendQueue::run_local(SendSlot& slot) {
  const PdId pd = qp_.init.pd;
  Stag stag = slot.invalidate;
  bool busy = false;  // whether a peer is using the STag
  auto failure = WcStatus::kSuccess;
  if (slot.opcode == WrOpcode::kLocalInvalidate) {
    const auto done = qp_.stags.invalidate(pd, qp_.num, stag, false, qp_.own_driver());
    busy = done == StagTable::Invalidated::kPinned;
    if (done == StagTable::Invalidated::kRefused) failure = WcStatus::kMwBind;
  } else {
    const bool registers = slot.opcode == WrOpcode::kFastRegister;
    const auto error = registers ? qp_.stags.fast_register(pd, slot.registration, qp_.own_driver())
                                 : qp_.stags.bind(pd, qp_.num, slot.bind, qp_.own_driver());
    stag = registers ? slot.registration.stag : slot.bind.window;
    busy = error == Errc::kBusy;
    if (error) failure = registers ? WcStatus::kLocalQpOperation : WcStatus::kMwBind;
  }
  if (busy) {  // Wait until the STag is unpinned instead of failing the request.
    wait_for_memory(stag);
    return false;
  }
  waits_for_memory_ = false;
  if (failure != WcStatus::kSuccess) fail(slot, failure);
  return failure == WcStatus::kSuccess;
}

// Returns whether the connection supports the request. If not, fails the request without sending
// it. The connection does not support Reads and atomics if ORD is 0. It does not support requests
// of RFC 7306 that were posted in Idle if the peer has not agreed to them. [VRB-46] [EXT-1]
// [IBV-314]
inline bool SendQueue::permitted(SendSlot& slot) {
  const bool no_reads = slot.is_answered() && qp_.ord == 0;
  const bool refused =
      no_reads || (is_extension(slot.opcode) && qp_.refuses(slot.opcode, slot.immediate));
  if (!refused) return true;
  const bool by_peer = no_reads && qp_.peer_answers_none && qp_.ord_limit != 0;
  fail(slot, by_peer ? WcStatus::kRemoteInvalidRequest : WcStatus::kLocalQpOperation);
  return false;
}

// Pins the buffers of the request until it is finished, and sets `out` to these buffers. If access
// to a buffer is refused, fails the request and returns false. [IBV-315, IBV-507, IBV-527, IBV-543,
// IBV-544]
inline bool SendQueue::pin_buffers(SendSlot& slot, const AccessRequest& who, bytes::Gather& out) {
  if (has(slot.flags, SendFlags::kInline)) {
    out.assign({slot.inline_data, slot.length});
    return true;
  }
  out.clear();
  for (const Sge& sge : slot.sgl) {
    if (sge.length == 0) continue;  // The lkey of an empty element is not checked. [VRB-33]
    Grant& grant = slot.add_grant();
    const auto at = virtual_address(sge.address);
    if (const auto judged = qp_.stags.acquire(who, sge.lkey, at, sge.length, grant); !judged) {
      // If the peer's word is misaligned as well, report that error instead, as the peer would have
      // done.
      const bool misaligned = slot.is_atomic() && slot.remote.to % rdmap::kAtomicWord != 0;
      if (!misaligned) {
        qp_.note(
            RefusedMemory{.stag = sge.lkey, .to = at, .length = sge.length, .why = judged.error()});
      }
      fail(slot, misaligned ? WcStatus::kRemoteInvalidRequest
                            : WcStatus::kLocalProtection);  // [VRB-28] [EXT-60]
      return false;
    }
    out.push_back(grant.memory());
  }
  return true;
}

inline void SendQueue::fill_request(SendSlot& slot, rdmap::Request& out) {
  out.opcode = message_opcode(slot.opcode, slot.flags);
  out.length = slot.length;
  out.stag = slot.opcode == WrOpcode::kSendInvalidate ? slot.invalidate : slot.remote.rkey;
  out.to = rdmap::TaggedOffset{slot.remote.to};
  out.immediate = slot.immediate;
  if (slot.is_read()) return fill_sink(slot, 0, out);
  if (slot.is_atomic()) {
    const bool swap = slot.opcode == WrOpcode::kCmpSwap;
    out.atomic = {.opcode = swap ? rdmap::AtomicOpcode::kCmpSwap : rdmap::AtomicOpcode::kFetchAdd,
                  .stag = slot.remote.rkey,
                  .to = out.to,
                  .add_or_swap = slot.atomic.add_or_swap,
                  .mask = swap ? slot.atomic.swap_mask : slot.atomic.add_mask,
                  .compare = slot.atomic.compare,
                  .compare_mask = slot.atomic.compare_mask};
  }
}

// Sets the payload of a request whose buffers are pinned.
void SendQueue::fill_payload(const SendSlot& slot, rdmap::Request& out) {
  if (has(slot.flags, SendFlags::kInline))
    return out.payload.assign({slot.inline_data, slot.length});
  out.payload.clear();
  for (const Grant& grant : slot.grants) out.payload.push_back(grant.memory());
}

// Makes the first of several messages. The Immediate of a kSendImmediate is sent before the Send,
// and the Immediate of a kWriteImmediate after the Write.
void SendQueue::make_first(const SendSlot& slot, rdmap::Request& out) {
  more_due_ = out.cookie;
  if (slot.opcode == WrOpcode::kSendImmediate) {
    out.opcode = Opcode::kImmediate;
    out.immediate = slot.immediate | rdmap::kOfNextSend;
  }
}

// Makes the next message of a request that consists of several messages. No message of another
// request may come between an Immediate and its Write or Send.
bool SendQueue::take_next(bool read_credit, rdmap::Request& out) {
  out.cookie = *more_due_;
  SendSlot& slot = ring_.slot(out.cookie);
  if (slot.is_read()) return may_read(read_credit) && take_next_read(slot, out);
  more_due_.reset();
  if (slot.opcode == WrOpcode::kSendImmediate) {
    out.opcode = message_opcode(slot.opcode, slot.flags);
    out.length = slot.length;
    fill_payload(slot, out);
  } else {
    out.opcode = message_opcode(WrOpcode::kImmediate, slot.flags);
    out.immediate = slot.immediate;
  }
  return true;
}

// Makes the Read Request for the next buffer of the sink. Checks ORD again, because the application
// may have lowered ORD since the previous Read Request.
bool SendQueue::take_next_read(SendSlot& slot, rdmap::Request& out) {
  if (!permitted(slot)) return false;
  ++reads_under_way_;
  const std::size_t part = ++acks_.last_request - slot.msn;
  if (part + 1 == slot.grants.size()) more_due_.reset();
  out.opcode = Opcode::kReadRequest;
  out.payload.clear();
  out.stag = slot.remote.rkey;
  out.to.value = slot.remote.to;
  fill_sink(slot, part, out);
  return true;
}

// Sets the sink of a Read Request to the buffer with index `part` among the buffers that are not
// empty. An empty Read may have no buffer. [IBV-513, IBV-514]
void SendQueue::fill_sink(SendSlot& slot, std::size_t part, rdmap::Request& out) {
  out.sink_stag = slot.sgl.empty() ? Stag{1} : slot.sgl[0].lkey;
  out.sink_to = {};
  out.sink = {};
  if (slot.grants.empty()) return;
  const Grant& grant = slot.grants[part];
  for (const Sge& sge : slot.sgl) {
    out.sink_stag = sge.lkey;
    if (sge.length == 0) continue;
    if (part-- == 0) break;
    out.to.value += sge.length;
  }
  const Region& region = *grant.region();
  out.sink = grant.memory();
  out.length = static_cast<std::uint32_t>(out.sink.size());
  out.sink_to.value = region.to_base + static_cast<std::uint64_t>(out.sink.data() - region.address);
}

// Fails the request that is being started, because this end cannot execute it. The stream has to
// end, but first the requests before it are executed and complete. [VRB-43] [VRB-54]
void SendQueue::fail(SendSlot& slot, WcStatus status) {
  failed_ = more_due_.value_or(started_);
  if (!more_due_) slot.release_grants();  // Otherwise answers to the first part may still arrive.
  more_due_.reset();
  slot.status = status;
  if (qp_.is_unreliable) qp_.flush_before = SendRing::kNever;
  auto before = qp_.local_failure.load();
  while (before != LocalFailure::kDue &&
         !qp_.local_failure.compare_exchange_weak(before, LocalFailure::kPending)) {
  }
}

// Fails a request in flight whose memory has disappeared. The message in progress cannot be
// completed, so the stream ends at once.
void SendQueue::fail_now(SendSlot& slot, WcStatus status) {
  blame(slot, status);
  qp_.local_failure = LocalFailure::kDue;
}

bool SendQueue::take_failure() {
  if (qp_.local_failure == LocalFailure::kDraining) {
    report_drained();
    return false;
  }
  if (qp_.local_failure == LocalFailure::kPending) {
    if (waits_for_memory_) retire();
    if (ring_.retired.load() != failed_) return false;
    if (qp_.is_unreliable) {
      flush_stopped();
      return false;
    }
    qp_.note(described(ring_.slot(failed_)));
  }
  return qp_.local_failure.exchange(LocalFailure::kNone) != LocalFailure::kNone;
}

// [IBV-530]
void SendQueue::sent(std::uint64_t cookie) {
  if (cookie < ring_.retired.load() || qp_.state != QpState::kRts) return;
  SendSlot& slot = ring_.slot(cookie);
  if (--slot.unsent != 0) return;  // The second message of the request has not been sent.
  // A Read or atomic completes only when its answer has arrived. [RDMAP-77] [EXT-41]
  if (slot.is_answered()) return;
  slot.stage = SendSlot::Stage::kDone;
  slot.release_grants();
  any_sent_ = true;
}

void SendQueue::read_done(std::uint64_t cookie) { response_done(ring_.slot(cookie)); }

void SendQueue::atomic_done(std::uint64_t cookie, std::uint64_t original) {
  SendSlot& slot = ring_.slot(cookie);
  // Store the number in host byte order. The sink need not be aligned. [EXT-13]
  const auto octets = std::bit_cast<std::array<std::byte, sizeof original>>(original);
  bytes::begin_touch();
  bytes::place_copy(slot.grants[0].memory(), octets);
  bytes::end_touch();
  response_done(slot);
}

// [IBV-301]
void SendQueue::response_done(SendSlot& slot) {
  --reads_under_way_;
  if (--slot.unanswered != 0) return;  // Other buffers of the sink still wait for their octets.
  octets_placed_ += slot.length;
  if (slot.is_read()) read_octets_ -= slot.length;
  finish(slot);
}

inline void SendQueue::finish(SendSlot& slot) {
  slot.stage = SendSlot::Stage::kDone;
  slot.release_grants();
  retire();
}

// Completes finished requests in the order in which they were posted. A request completes only
// after all requests before it. [RDMAP-73] [VRB-43] [IBV-296, IBV-297]
void SendQueue::retire() {
  auto sequence = ring_.retired.load(std::memory_order_relaxed);
  while (sequence < started_) {
    SendSlot& slot = ring_.slot(sequence);
    if (!is_over(slot, sequence)) return;
    if (slot.opcode == WrOpcode::kReadInvalidate && !invalidate_sink(slot)) return;
    complete(slot, sequence++);
  }
}

// Invalidates the STag of the sink after the payload of a Read with Invalidate has been placed and
// before the Read completes. [VRB-48]
bool SendQueue::invalidate_sink(SendSlot& slot) {
  const auto done =
      qp_.stags.invalidate(qp_.init.pd, qp_.num, slot.sgl[0].lkey, false, qp_.own_driver());
  if (done != StagTable::Invalidated::kPinned) {
    waits_for_memory_ = false;
    return true;
  }
  wait_for_memory(slot.sgl[0].lkey);
  return false;
}

// Starts to wait until an STag is unpinned. The requests of this end that use the STag will finish.
// But a peer that stops in the middle of an FPDU or message would keep its pins for ever, so the
// first call breaks the pins of peers.
void SendQueue::wait_for_memory(Stag stag) {
  if (!std::exchange(waits_for_memory_, true)) qp_.own_driver()->break_pins(stag);
}

// [IBV-293, IBV-294, IBV-295, IBV-391, IBV-524]
inline void SendQueue::complete(SendSlot& slot, std::uint64_t sequence) {
  ring_.retired.store(sequence + 1, std::memory_order_release);
  const bool failed = slot.status != WcStatus::kSuccess;
  // A successful unsignaled request has no completion; a failed request always has one. [VRB-39]
  // [VRB-51]
  if (!failed && !qp_.init.signal_all && !has(slot.flags, SendFlags::kSignaled)) return;
  push_completion(slot, sequence);
}

void SendQueue::push_completion(const SendSlot& slot, std::uint64_t sequence) {
  const bool failed = slot.status != WcStatus::kSuccess;
  WorkCompletion wc{.wr_id = slot.wr_id,
                    .status = slot.status,
                    .opcode = row_of(slot.opcode).completion,
                    .byte_len = slot.is_answered() ? slot.length : 0,
                    .qp_num = qp_.num};
  qp_.push(*qp_.init.send_cq, wc, failed, {.counter = &ring_.reaped, .value = sequence + 1});
}

// [IBV-303, IBV-304, IBV-317]
void SendQueue::flush() {
  const bool rests = is_idle();  // if true, requests that were sent count as done
  any_sent_ = false;
  waits_for_memory_ = false;
  reads_under_way_ = 0;
  read_octets_ = 0;
  more_due_.reset();
  acks_.wanted = acks_.covered;
  // The request that this end cannot execute reports its error only if all requests before it are
  // complete. So at most one slot has an error. A request that was sent after an unfinished request
  // is flushed as well, because its success would imply the success of all requests before it.
  // [VRB-14] [VRB-43]
  const auto failed = std::exchange(failed_, SendRing::kNever);
  if (failed != SendRing::kNever && failed != ring_.retired.load()) {
    ring_.slot(failed).status = WcStatus::kSuccess;
  }
  bool unfinished = false;
  for (auto s = ring_.retired.load(); s < ring_.posted.load(std::memory_order_acquire); ++s) {
    SendSlot& slot = ring_.slot(s);
    const bool left = rests && slot.stage == SendSlot::Stage::kLeft;
    unfinished |= !left && slot.stage != SendSlot::Stage::kDone;
    if (unfinished && slot.status == WcStatus::kSuccess) slot.status = WcStatus::kWrFlush;
    slot.stage = SendSlot::Stage::kDone;
    slot.release_grants();
    complete(slot, s);
    started_ = std::max(started_, s + 1);
  }
}

}  // namespace iwarp::verbs
