// SPDX-License-Identifier: Apache-2.0
// The stream's half of a queue pair, outbound: which request is next, whose memory it may use, and
// what completes (verbs draft section 8, RFC 7306 sections 5 and 6). Under the connection's lock.
#include <algorithm>
#include <bit>

#include "iwarp/bytes/place.hpp"
#include "queue_pair_impl.hpp"

namespace iwarp::verbs {

namespace {

WcOpcode wc_opcode(WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kSend:
    case WrOpcode::kSendInvalidate:
    case WrOpcode::kImmediate:
      return WcOpcode::kSend;
    case WrOpcode::kWrite:
    case WrOpcode::kWriteImmediate:
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
    case WrOpcode::kFetchAdd:
      return WcOpcode::kFetchAdd;
    case WrOpcode::kCmpSwap:
      return WcOpcode::kCmpSwap;
  }
  return WcOpcode::kSend;
}

rdmap::Opcode message_opcode(WrOpcode opcode, bool solicited) {
  using rdmap::Opcode;
  switch (opcode) {
    case WrOpcode::kWrite:
    case WrOpcode::kWriteImmediate:
      return Opcode::kWrite;
    case WrOpcode::kImmediate:
      return solicited ? Opcode::kImmediateSolicited : Opcode::kImmediate;
    case WrOpcode::kFetchAdd:
    case WrOpcode::kCmpSwap:
      return Opcode::kAtomicRequest;
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

}  // namespace

bool QueuePair::next_request(bool read_credit, rdmap::Request& out) {
  if (state() != QpState::kRts) return false;  // In Idle nothing is processed. [VRB-6]
  if (impl_->waiting_for_pins) retire();
  if (impl_->immediate_due) {  // Nothing of ours comes between a Write and its Immediate.
    out.cookie = *std::exchange(impl_->immediate_due, std::nullopt);
    const SendSlot& slot = impl_->slot(out.cookie);
    out.opcode = message_opcode(WrOpcode::kImmediate, has(slot.flags, SendFlags::kSolicited));
    out.immediate = slot.immediate;
    return true;
  }
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
    if (!permitted(slot) || !resolve(slot)) return false;
    fill_request(slot, out);
    out.cookie = sequence;
    out.atomic.id = static_cast<std::uint32_t>(sequence);  // as unique as the slot [EXT-37]
    if (slot.opcode == WrOpcode::kWriteImmediate) impl_->immediate_due = sequence;
    return true;
  }
  return false;
}

bool QueuePair::may_start(const SendSlot& slot, bool read_credit) const {
  // Read fence: every earlier Read and atomic is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kFence) && impl_->reads_under_way != 0) return false;
  // Local fence: every earlier request is complete. [VRB-50]
  if (has(slot.flags, SendFlags::kLocalFence) && impl_->retired.load() != impl_->started) {
    return false;
  }
  // ORD stalls the queue rather than being exceeded; ORD 0 fails in resolve(). [VRB-23]
  if (slot.is_answered() && impl_->ord != 0) {
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

// What this connection cannot do at all fails here, and is not sent: Reads and atomics without ORD,
// and what was posted in Idle for a peer that turned out not to know RFC 7306. [VRB-46] [EXT-1]
bool QueuePair::permitted(SendSlot& slot) {
  const bool refused =
      (slot.is_answered() && impl_->ord == 0) || (is_extension(slot.opcode) && !impl_->extensions);
  if (refused) fail(slot, WcStatus::kLocalQpOperation);
  return !refused;
}

// Pins the local buffers of a request until it is finished.
bool QueuePair::resolve(SendSlot& slot) {
  slot.grants.clear();
  if (slot.is_answered()) ++impl_->reads_under_way;
  if (has(slot.flags, SendFlags::kInline)) return true;
  const AccessRequest who{.pd = init_.pd,
                          .qp = num_,
                          .remote = false,
                          .need = slot.is_answered() ? Access::kLocalWrite : Access::kNone};
  for (const Sge& sge : slot.sgl) {
    if (sge.length == 0) continue;  // Nothing to judge. [VRB-33]
    auto grant = stags_.acquire(who, sge.lkey, virtual_address(sge.address), sge.length);
    if (!grant) {
      fail(slot, WcStatus::kLocalProtection);  // [VRB-28] [EXT-60]
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
  out.immediate = slot.immediate;
  if (slot.is_read()) return fill_sink(slot, out);
  if (slot.is_atomic()) {
    const bool swap = slot.opcode == WrOpcode::kCmpSwap;
    out.atomic = {.opcode = swap ? rdmap::AtomicOpcode::kCmpSwap : rdmap::AtomicOpcode::kFetchAdd,
                  .stag = slot.remote.rkey,
                  .to = out.to,
                  .add_or_swap = slot.atomic.add_or_swap,
                  .mask = swap ? slot.atomic.swap_mask : slot.atomic.add_mask,
                  .compare = slot.atomic.compare,
                  .compare_mask = slot.atomic.compare_mask};
    return;
  }
  if (has(slot.flags, SendFlags::kInline)) {
    out.payload.push_back({slot.inline_data, slot.length});
    return;
  }
  for (const Grant& grant : slot.grants) out.payload.push_back(grant.memory());
}

// The sink as the peer shall name it. An empty Read may have none.
void QueuePair::fill_sink(SendSlot& slot, rdmap::Request& out) {
  out.sink_stag = slot.sgl.empty() ? Stag{1} : slot.sgl[0].lkey;
  out.sink_to = {};
  out.sink = {};
  if (slot.grants.empty()) return;
  const Region& region = *slot.grants[0].region();
  out.sink = slot.grants[0].memory();
  out.sink_to.value = region.to_base + static_cast<std::uint64_t>(out.sink.data() - region.address);
}

void QueuePair::fail(SendSlot& slot, WcStatus status) {
  slot.status = status;
  impl_->local_failure = true;  // The stream has to end with it. [VRB-54]
}

void QueuePair::sent(std::uint64_t cookie) {
  if (cookie < impl_->retired.load() || state() != QpState::kRts) return;
  SendSlot& slot = impl_->slot(cookie);
  if (--slot.unsent != 0) return;  // A Write whose Immediate is still to leave.
  // A Read or atomic is complete when its answer is there. [RDMAP-77] [EXT-41]
  if (!slot.is_answered()) finish(slot);
}

void QueuePair::read_done(std::uint64_t cookie) { response_done(impl_->slot(cookie)); }

void QueuePair::atomic_done(std::uint64_t cookie, std::uint64_t original) {
  SendSlot& slot = impl_->slot(cookie);
  // A number of this host, wherever the sink begins. [EXT-13]
  const auto octets = std::bit_cast<std::array<std::byte, sizeof original>>(original);
  bytes::place_copy(slot.grants[0].memory(), octets);
  response_done(slot);
}

void QueuePair::response_done(SendSlot& slot) {
  --impl_->reads_under_way;
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
                    .byte_len = slot.is_answered() ? slot.length : 0,
                    .qp_num = num_};
  push(*init_.send_cq, wc, failed, {.counter = &impl_->reaped, .value = sequence + 1});
}

bool QueuePair::take_local_failure() { return std::exchange(impl_->local_failure, false); }

bool QueuePair::send_idle() const {
  return impl_->retired.load() == impl_->posted.load(std::memory_order_acquire);
}

bool QueuePair::send_waiting() const {
  return impl_->started != impl_->posted.load(std::memory_order_acquire) ||
         impl_->immediate_due.has_value() || impl_->waiting_for_pins;
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
    const bool unfinished = slot.is_answered() || (mid_message && s + 1 == impl_->started);
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

}  // namespace iwarp::verbs
