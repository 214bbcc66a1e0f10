// SPDX-License-Identifier: Apache-2.0
// The stream's half of a queue pair: which request is next, whose memory it may use, and what
// completes (verbs draft section 8). Called under the connection's lock.
#include <algorithm>

#include "iwarp/rdmap/faults.hpp"
#include "queue_pair_impl.hpp"

namespace iwarp::verbs {

using bytes::fault;
using bytes::Result;

namespace {

WcOpcode wc_opcode(WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kSend:
    case WrOpcode::kSendInvalidate:
      return WcOpcode::kSend;
    case WrOpcode::kWrite:
      return WcOpcode::kWrite;
    case WrOpcode::kRead:
    case WrOpcode::kReadInvalidate:
      return WcOpcode::kRead;
    case WrOpcode::kLocalInvalidate:
      return WcOpcode::kLocalInvalidate;
    case WrOpcode::kFastRegister:
      return WcOpcode::kFastRegister;
    case WrOpcode::kBindWindow:
      return WcOpcode::kBindWindow;
  }
  return WcOpcode::kSend;
}

rdmap::Opcode message_opcode(WrOpcode opcode, bool solicited) {
  using rdmap::Opcode;
  switch (opcode) {
    case WrOpcode::kWrite:
      return Opcode::kWrite;
    case WrOpcode::kSendInvalidate:
      return solicited ? Opcode::kSendSolicitedInvalidate : Opcode::kSendInvalidate;
    case WrOpcode::kRead:
    case WrOpcode::kReadInvalidate:
      return Opcode::kReadRequest;
    default:
      return solicited ? Opcode::kSendSolicited : Opcode::kSend;
  }
}

bool is_local(WrOpcode opcode) {
  return opcode == WrOpcode::kLocalInvalidate || opcode == WrOpcode::kFastRegister ||
         opcode == WrOpcode::kBindWindow;
}

std::uint64_t virtual_address(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

// Send queue --------------------------------------------------------------------------------------

bool QueuePair::next_request(bool read_credit, rdmap::Request& out) {
  if (state() != QpState::kRts) return false;  // In Idle nothing is processed. [VRB-6]
  if (impl_->waiting_for_pins) retire();
  // Started in order, one at a time. [VRB-43]
  while (impl_->started < impl_->posted.load(std::memory_order_acquire)) {
    const auto sequence = impl_->started;
    SendSlot& slot = impl_->slot(sequence);
    if (!may_start(slot, read_credit)) return false;
    if (is_local(slot.opcode)) {
      // Takes effect before any later request executes. [VRB-49]
      const auto done = run_local(slot);
      if (done == Local::kWait) return false;
      ++impl_->started;
      if (done == Local::kFailed) return false;
      finish(slot);
      continue;
    }
    ++impl_->started;
    slot.stage = SendSlot::Stage::kStarted;
    if (!resolve(slot)) return false;
    fill_request(slot, out);
    out.cookie = sequence;
    return true;
  }
  return false;
}

bool QueuePair::may_start(const SendSlot& slot, bool read_credit) const {
  // Read fence: every earlier Read is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kFence) && impl_->reads_under_way != 0) return false;
  // Local fence: every earlier request is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kLocalFence) && impl_->retired.load() != impl_->started) {
    return false;
  }
  // ORD stalls the queue rather than being exceeded; ORD 0 fails in resolve(). [VRB-23]
  if (slot.is_read() && impl_->ord != 0) {
    return read_credit && impl_->reads_under_way < impl_->ord;
  }
  return true;
}

QueuePair::Local QueuePair::run_local(SendSlot& slot) {
  std::error_code error;
  WcStatus failure = WcStatus::kSuccess;
  bool busy = false;
  switch (slot.opcode) {
    case WrOpcode::kFastRegister:
      error = stags_.fast_register(init_.pd, slot.registration);
      if (error) failure = WcStatus::kLocalQpOperation;
      break;
    case WrOpcode::kBindWindow:
      error = stags_.bind(init_.pd, num_, slot.bind);
      if (error) failure = WcStatus::kMwBind;
      break;
    default: {
      const auto done = stags_.invalidate(init_.pd, num_, slot.invalidate, false);
      busy = done == StagTable::Invalidated::kPinned;
      if (done == StagTable::Invalidated::kRefused) failure = WcStatus::kLocalProtection;
    }
  }
  // A peer that tries an STag at the wrong moment makes us wait, not fail.
  busy |= error == Errc::kBusy;
  impl_->waiting_for_pins = busy;
  if (busy) return Local::kWait;
  if (failure == WcStatus::kSuccess) return Local::kDone;
  fail(slot, failure);
  return Local::kFailed;
}

// Pins the local buffers of a request until it is finished.
bool QueuePair::resolve(SendSlot& slot) {
  slot.grants.clear();
  if (slot.is_read()) {
    if (impl_->ord == 0) {  // [VRB-46]
      fail(slot, WcStatus::kLocalQpOperation);
      return false;
    }
    ++impl_->reads_under_way;
  }
  if (has(slot.flags, SendFlags::kInline)) return true;
  const AccessRequest who{.pd = init_.pd,
                          .qp = num_,
                          .remote = false,
                          .need = slot.is_read() ? Access::kLocalWrite : Access::kNone};
  for (const Sge& sge : slot.sgl) {
    if (sge.length == 0) continue;  // Nothing to judge. [VRB-33]
    auto grant = stags_.acquire(who, sge.lkey, virtual_address(sge.address), sge.length);
    if (!grant) {
      fail(slot, WcStatus::kLocalProtection);  // [VRB-28]
      return false;
    }
    slot.grants.push_back(std::move(*grant));
  }
  return true;
}

void QueuePair::fill_request(SendSlot& slot, rdmap::Request& out) {
  out.opcode = message_opcode(slot.opcode, has(slot.flags, SendFlags::kSolicited));
  out.length = slot.length;
  out.payload.clear();
  out.stag = slot.opcode == WrOpcode::kSendInvalidate ? slot.invalidate : slot.remote.rkey;
  out.to = rdmap::TaggedOffset{slot.remote.to};
  if (slot.is_read()) {
    // The sink as the peer shall name it. An empty Read may have none.
    out.sink_stag = slot.sgl.empty() ? Stag{1} : slot.sgl[0].lkey;
    out.sink_to = {};
    out.sink = {};
    if (!slot.grants.empty()) {
      const Region& region = *slot.grants[0].region();
      out.sink = slot.grants[0].memory();
      out.sink_to.value =
          region.to_base + static_cast<std::uint64_t>(out.sink.data() - region.address);
    }
    return;
  }
  if (has(slot.flags, SendFlags::kInline)) {
    const auto index = static_cast<std::size_t>(&slot - impl_->sq.data());
    const bytes::View all(impl_->inline_data);
    out.payload.push_back(all.subspan(index * init_.limits.max_inline, slot.length));
    return;
  }
  for (const Grant& grant : slot.grants) out.payload.push_back(grant.memory());
}

void QueuePair::fail(SendSlot& slot, WcStatus status) {
  slot.status = status;
  impl_->local_failure = true;  // The stream has to end with it. [VRB-54]
}

void QueuePair::sent(std::uint64_t cookie) {
  if (cookie < impl_->retired.load() || state() != QpState::kRts) return;
  SendSlot& slot = impl_->slot(cookie);
  if (!slot.is_read()) finish(slot);  // A Read is complete when its data is there. [RDMAP-77]
}

void QueuePair::read_done(std::uint64_t cookie) {
  --impl_->reads_under_way;
  SendSlot& slot = impl_->slot(cookie);
  impl_->octets_placed += slot.length;
  finish(slot);
}

void QueuePair::finish(SendSlot& slot) {
  slot.stage = SendSlot::Stage::kDone;
  slot.grants.clear();
  retire();
}

// Completions in the order posted, whatever finished first. [RDMAP-73] [VRB-43]
void QueuePair::retire() {
  auto sequence = impl_->retired.load(std::memory_order_relaxed);
  while (sequence < impl_->started) {
    SendSlot& slot = impl_->slot(sequence);
    if (slot.stage != SendSlot::Stage::kDone || !settle(slot)) return;
    complete_send(slot, sequence++);
  }
}

// Read with Invalidate: the sink's STag dies after placement, before the completion. [VRB-48]
bool QueuePair::settle(SendSlot& slot) {
  if (slot.opcode != WrOpcode::kReadInvalidate) return true;
  const auto done = stags_.invalidate(init_.pd, num_, slot.sgl[0].lkey, false);
  impl_->waiting_for_pins = done == StagTable::Invalidated::kPinned;
  return !impl_->waiting_for_pins;
}

void QueuePair::complete_send(SendSlot& slot, std::uint64_t sequence) {
  slot.stage = SendSlot::Stage::kDone;
  slot.grants.clear();
  impl_->retired.store(sequence + 1);
  const bool failed = slot.status != WcStatus::kSuccess;
  // None for a successful unsignalled request, always one for an error. [VRB-39] [VRB-51]
  if (!failed && !init_.signal_all && !has(slot.flags, SendFlags::kSignaled)) return;
  WorkCompletion wc{.wr_id = slot.wr_id,
                    .status = slot.status,
                    .opcode = wc_opcode(slot.opcode),
                    .byte_len = slot.is_read() ? slot.length : 0,
                    .qp_num = num_};
  push(*init_.send_cq, wc, failed, {.counter = &impl_->reaped, .value = sequence + 1});
}

bool QueuePair::take_local_failure() { return std::exchange(impl_->local_failure, false); }

bool QueuePair::send_idle() const {
  return impl_->retired.load() == impl_->posted.load(std::memory_order_acquire);
}

bool QueuePair::waiting_for_pins() const { return impl_->waiting_for_pins; }
std::uint64_t QueuePair::octets_placed() const { return impl_->octets_placed; }
std::uint64_t QueuePair::completions() const { return impl_->completions; }
void QueuePair::set_hold_on_empty(bool hold) { impl_->hold_on_empty = hold; }

bool QueuePair::revoke(const Region& region, bool mid_message) {
  const auto names = [&region](const Grant& grant) { return grant.region() == &region; };
  bool needed = false;
  for (auto s = impl_->retired.load(); s < impl_->started; ++s) {
    SendSlot& slot = impl_->slot(s);
    if (std::none_of(slot.grants.begin(), slot.grants.end(), names)) continue;
    const bool unfinished = slot.is_read() || (mid_message && s + 1 == impl_->started);
    if (unfinished && !needed) fail(slot, WcStatus::kLocalProtection);  // only one [VRB-14]
    needed |= unfinished;
    slot.grants.clear();
  }
  if (std::any_of(impl_->receive_grants.begin(), impl_->receive_grants.end(), names)) {
    impl_->receive_grants.clear();
    needed = true;
  }
  if (names(impl_->target)) impl_->target.release();
  if (names(impl_->source)) impl_->source.release();
  return needed;
}

// Inbound tagged ----------------------------------------------------------------------------------

std::expected<bytes::Span, AccessError> QueuePair::write_target(Stag stag, rdmap::TaggedOffset to,
                                                                std::uint32_t length) {
  if (!has(init_.inbound, Access::kRemoteWrite)) return std::unexpected(AccessError::kNoRight);
  auto grant =
      stags_.acquire({.pd = init_.pd, .qp = num_, .remote = true, .need = Access::kRemoteWrite},
                     stag, to.value, length);
  if (!grant) return std::unexpected(grant.error());
  impl_->target = std::move(*grant);
  impl_->octets_placed += length;
  return impl_->target.memory();
}

void QueuePair::release_target() { impl_->target.release(); }

std::expected<bytes::View, AccessError> QueuePair::read_source(Stag stag, rdmap::TaggedOffset to,
                                                               std::uint32_t length) {
  if (!has(init_.inbound, Access::kRemoteRead)) return std::unexpected(AccessError::kNoRight);
  auto grant =
      stags_.acquire({.pd = init_.pd, .qp = num_, .remote = true, .need = Access::kRemoteRead},
                     stag, to.value, length);
  if (!grant) return std::unexpected(grant.error());
  impl_->source = std::move(*grant);
  return bytes::View(impl_->source.memory());
}

void QueuePair::release_source() { impl_->source.release(); }

// Inbound Sends -----------------------------------------------------------------------------------

Result<ddp::UntaggedBuffer> QueuePair::receive_buffer() {
  if (!take_receive()) {
    if (impl_->hold_on_empty) return ddp::UntaggedBuffer{.pieces = {}, .ready = false};
    return fault(ddp::kUntaggedNoBuffer);
  }
  if (!resolve_receive()) {
    complete_receive({.status = WcStatus::kLocalProtection});
    return fault(ddp::kDdpCatastrophic);
  }
  ddp::UntaggedBuffer buffer;
  for (const Grant& grant : impl_->receive_grants) buffer.pieces.push_back(grant.memory());
  return buffer;
}

bool QueuePair::take_receive() {
  if (init_.srq == nullptr) {
    impl_->receive = impl_->rq.take();
    return impl_->receive.has_value();
  }
  // A peer that eats the shared receives is stopped at its queue pair's cap. [SEC-22]
  const auto cap = init_.srq->limits().per_qp;
  if (cap != 0 && impl_->srq_taken - impl_->srq_reaped.load() >= cap) return false;
  impl_->receive = init_.srq->take();
  if (impl_->receive) ++impl_->srq_taken;
  return impl_->receive.has_value();
}

bool QueuePair::resolve_receive() {
  const AccessRequest who{.pd = init_.srq != nullptr ? init_.srq->pd() : init_.pd,
                          .qp = num_,
                          .remote = false,
                          .need = Access::kLocalWrite};
  impl_->receive_grants.clear();
  for (const Sge& sge : impl_->receive->sgl) {
    if (sge.length == 0) continue;
    auto grant = stags_.acquire(who, sge.lkey, virtual_address(sge.address), sge.length);
    if (!grant) return false;
    impl_->receive_grants.push_back(std::move(*grant));
  }
  return true;
}

Result<void> QueuePair::send_received(const rdmap::ReceivedSend& send) {
  impl_->receive_grants.clear();
  impl_->octets_placed += send.length;
  const WorkCompletion wc{.status = WcStatus::kSuccess,
                          .opcode = WcOpcode::kRecv,
                          .byte_len = send.length,
                          .solicited = send.solicited,
                          .invalidated = send.invalidate,
                          .invalidated_stag = send.invalidated};
  if (send.invalidate) {
    // After the payload was delivered, before the receive completes. [VRB-47] [RDMAP-58]
    const auto done = stags_.invalidate(init_.pd, num_, send.invalidated, true);
    if (done == StagTable::Invalidated::kRefused) return fault(rdmap::kCannotInvalidate);
    if (done == StagTable::Invalidated::kPinned) {
      impl_->invalidating = wc;  // Somebody still lets go of it: see finish_invalidate().
      return {};
    }
  }
  complete_receive(wc);
  return {};
}

bool QueuePair::finish_invalidate() {
  if (!impl_->invalidating) return true;
  const WorkCompletion wc = *impl_->invalidating;
  // The STag is dead since the Send came; what is left is that nobody holds its memory. [SEC-14]
  const auto done = stags_.invalidate(init_.pd, num_, wc.invalidated_stag, false);
  if (done == StagTable::Invalidated::kPinned) return false;
  impl_->invalidating.reset();
  complete_receive(wc);
  return true;
}

void QueuePair::complete_receive(WorkCompletion wc) {
  wc.wr_id = impl_->receive->wr_id;
  wc.opcode = WcOpcode::kRecv;
  wc.qp_num = num_;
  impl_->receive.reset();
  impl_->receive_grants.clear();
  const CompletionQueue::Reaped reaped =
      init_.srq != nullptr
          ? CompletionQueue::Reaped{.counter = &impl_->srq_reaped, .value = impl_->srq_taken}
          : CompletionQueue::Reaped{.counter = &impl_->rq.reaped(), .value = impl_->rq.taken()};
  push(*init_.recv_cq, wc, wc.solicited || wc.status != WcStatus::kSuccess, reaped);
}

}  // namespace iwarp::verbs
