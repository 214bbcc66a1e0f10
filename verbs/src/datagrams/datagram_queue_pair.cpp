// SPDX-License-Identifier: Apache-2.0
// DatagramQueuePair: posting, sending and states. datagram_arrivals.cpp handles received datagrams.
#include "iwarp/verbs/datagram_queue_pair.hpp"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cassert>
#include <utility>

#include "iwarp/bytes/touch.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"

namespace iwarp::verbs {
namespace {

std::size_t length_of(const SgeList& sgl) {
  std::size_t total = 0;
  for (const Sge& sge : sgl) total += sge.length;
  return total;
}

// Writes the header, the payload and the CRC into the datagram. Copies the payload, so that later
// changes of the application's memory have no effect. Returns false if that memory is not mapped.
bool seal(OutgoingDatagram& out, const DatagramHeader& header, const bytes::Gather& payload) {
  std::byte* at = std::ranges::copy(encode(header), out.copy.data()).out;
  const bool is_there = bytes::guarded([&] {
    bytes::begin_touch();
    for (const auto& piece : payload) at = std::ranges::copy(piece, at).out;
    bytes::end_touch();
  });
  out.size = kDatagramOverhead + bytes::total_size(payload);
  const auto covered = out.octets().first(out.size - kDatagramCrcSize);
  std::ranges::copy(mpa::crc_octets(crc32c::compute(covered)), out.copy.data() + covered.size());
  return is_there;
}

DatagramCause cause_of(DatagramState asked) {
  switch (asked) {
    case DatagramState::kReset:
      return DatagramCause::kResetAsked;
    case DatagramState::kInit:
      return DatagramCause::kInitAsked;
    case DatagramState::kReceiving:
      return DatagramCause::kReceivingAsked;
    case DatagramState::kReady:
      return DatagramCause::kReadyAsked;
    case DatagramState::kError:
      break;
  }
  return DatagramCause::kErrorAsked;
}

}  // namespace

/// A request that has not been sent.
struct DatagramQueuePair::Slot {
  std::uint64_t wr_id = 0;
  SendFlags flags = SendFlags::kNone;
  std::optional<std::uint32_t> immediate;
  DatagramTarget to;
  SgeList sgl;
  std::vector<std::byte> inline_data;  ///< payload of a kInline request; its capacity is reused

  bool is_inline() const { return has(flags, SendFlags::kInline); }
  void copy_inline(std::span<const Sge> from) {
    inline_data.clear();
    for (const Sge& sge : from) {
      inline_data.insert(inline_data.end(), sge.address, sge.address + sge.length);
    }
  }
};

std::string_view to_string(DatagramState state) { return bytes::name_of(state); }

DatagramCounters& DatagramCounters::operator+=(const DatagramCounters& o) {
  sent += o.sent;
  unsent += o.unsent;
  delivered += o.delivered;
  lost += o.lost;
  unjoined += o.unjoined;
  send_calls += o.send_calls;
  receive_calls += o.receive_calls;
  for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] += o.dropped[i];
  return *this;
}

DatagramQueuePair::DatagramQueuePair(const DatagramQpInit& init, StagTable& stags)
    : init_(init), stags_(stags), receives_(init.limits.max_recv_wr, init.limits.max_recv_sge) {
  CompletionQueuePort::attach(*init_.send_cq);
  CompletionQueuePort::attach(*init_.recv_cq);
  if (init_.srq != nullptr) SharedReceiveQueuePort::attach(*init_.srq);
}

DatagramQueuePair::~DatagramQueuePair() { leave_queues(); }

void DatagramQueuePair::leave_queues() {
  if (std::exchange(has_left_, true)) return;
  CompletionQueuePort::forget(*init_.send_cq, &reaped_);
  CompletionQueuePort::forget(*init_.recv_cq, &receives_.reaped());
  CompletionQueuePort::drop_failed(*init_.send_cq, init_.num);
  CompletionQueuePort::drop_failed(*init_.recv_cq, init_.num);
  CompletionQueuePort::detach(*init_.send_cq);
  CompletionQueuePort::detach(*init_.recv_cq);
  if (init_.srq != nullptr) SharedReceiveQueuePort::detach(*init_.srq);
}

// Posting -----------------------------------------------------------------------------------------

std::error_code DatagramQueuePair::post_send(std::span<const DatagramWr> wrs, std::size_t& posted) {
  posted = 0;
  const std::lock_guard lock(mutex_);
  for (const DatagramWr& wr : wrs) {
    if (const auto error = check(wr)) return error;
    if (const auto error = make_room(1)) return error;
    enqueue(wr);
    ++posted;
  }
  return {};
}

std::error_code DatagramQueuePair::post_all(std::span<const DatagramWr> wrs) {
  const std::lock_guard lock(mutex_);
  for (const DatagramWr& wr : wrs) {
    if (const auto error = check(wr)) return error;
  }
  if (const auto error = make_room(wrs.size())) return error;
  for (const DatagramWr& wr : wrs) enqueue(wr);
  return {};
}

std::error_code DatagramQueuePair::check(const DatagramWr& wr) const {
  const auto now = state();
  if (now != DatagramState::kReady && now != DatagramState::kError) {
    return make_error_code(Errc::kWrongState);
  }
  if (wr.sgl.size() > init_.limits.max_send_sge) return make_error_code(Errc::kTooManySge);
  std::uint64_t total = 0;
  for (const Sge& sge : wr.sgl) total += sge.length;
  if (has(wr.flags, SendFlags::kInline) && total > init_.limits.max_inline) {
    return make_error_code(Errc::kInlineTooLong);
  }
  return {};
}

std::error_code DatagramQueuePair::make_room(std::size_t count) {
  if (posted_ + count - reaped_.value() > init_.limits.max_send_wr) {
    return make_error_code(Errc::kQueueFull);
  }
  ring_.pop_front(static_cast<std::size_t>(left_.load(std::memory_order_acquire) - oldest()));
  return ring_.make_room(count) ? std::error_code()
                                : std::make_error_code(std::errc::not_enough_memory);
}

void DatagramQueuePair::enqueue(const DatagramWr& wr) {
  Slot& slot = ring_.next();
  slot.wr_id = wr.wr_id;
  slot.flags = wr.flags;
  slot.immediate = wr.immediate;
  slot.to = wr.to;
  slot.sgl = SgeList(wr.sgl.begin(), wr.sgl.end());
  if (slot.is_inline()) slot.copy_inline(wr.sgl);
  ring_.push_back();
  ++posted_;
}

std::error_code DatagramQueuePair::post_recv(const RecvWr& wr) {
  if (init_.srq != nullptr) return make_error_code(Errc::kInvalidArgument);
  if (state() == DatagramState::kReset) return make_error_code(Errc::kWrongState);
  if (const auto error = receives_.post(wr)) return error;
  if (state() == DatagramState::kError) flush_receives(true);
  return {};
}

std::size_t DatagramQueuePair::receives() const {
  return init_.srq != nullptr ? init_.srq->size() : receives_.size();
}

// Sending -----------------------------------------------------------------------------------------

std::span<OutgoingDatagram> DatagramQueuePair::prepare(std::span<OutgoingDatagram> batch) {
  std::size_t count = 0;
  const std::lock_guard lock(mutex_);
  while (count != batch.size() && prepared_ != posted_) {
    const Slot& slot = ring_[static_cast<std::size_t>(prepared_ - oldest())];
    OutgoingDatagram& out = batch[count];
    out.sequence = prepared_;
    out.wr_id = slot.wr_id;
    out.is_signaled = init_.signal_all || has(slot.flags, SendFlags::kSignaled);
    const auto status = fill(slot, out);
    if (status == WcStatus::kSuccess) {
      ++count;
    } else if (count != 0) {
      break;  // Earlier requests must complete before this one.
    } else {
      send_failed_ = true;
      complete_send(out, status, 0);
      left_ = prepared_ + 1;
    }
    ++prepared_;
  }
  return batch.first(count);
}

WcStatus DatagramQueuePair::fill(const Slot& slot, OutgoingDatagram& out) {
  if (state() != DatagramState::kReady || send_failed()) return WcStatus::kWrFlush;
  const std::size_t length = length_of(slot.sgl);
  // [IBV-582]
  if (length > init_.max_payload) return WcStatus::kLocalLength;
  bytes::Gather payload;
  boost::container::static_vector<Grant, bytes::kMaxSge> grants;
  if (slot.is_inline()) {
    payload.push_back(slot.inline_data);
  } else {
    const AccessRequest reader{.pd = init_.pd, .qp = init_.num};
    for (const Sge& sge : slot.sgl) {
      if (sge.length == 0) continue;
      Grant& grant = grants.emplace_back();
      if (!stags_.acquire(reader, sge.lkey, virtual_address(sge.address), sge.length, grant)) {
        return WcStatus::kLocalProtection;
      }
      payload.push_back(grant.memory());
    }
  }
  // If the Q_Key of a request has the top bit set (a controlled Q_Key), the queue pair's own Q_Key
  // is sent. [IBV-577]
  constexpr std::uint32_t kControlled = 1U << 31;
  const bool own_key = (slot.to.q_key & kControlled) != 0;
  const DatagramHeader header{.destination = slot.to.qp,
                              .source = init_.num,
                              .q_key = own_key ? q_key() : slot.to.q_key,
                              .instance = init_.instance,
                              .msn = ++msn_,
                              .solicited = has(slot.flags, SendFlags::kSolicited),
                              .immediate = slot.immediate};
  out.path = slot.to.path;
  out.port = datagram_port(slot.to.qp);
  return seal(out, header, payload) ? WcStatus::kSuccess : WcStatus::kLocalProtection;
}

void DatagramQueuePair::sent(const OutgoingDatagram& datagram, bool taken) {
  left_.store(datagram.sequence + 1, std::memory_order_release);
  ++(taken ? counters_.sent : counters_.unsent);
  // A datagram that the kernel refuses counts as dropped by the network, so its request succeeds.
  if (!datagram.is_signaled) return;
  complete_send(datagram, WcStatus::kSuccess,
                static_cast<std::uint32_t>(datagram.size - kDatagramOverhead));
}

void DatagramQueuePair::give_back(std::size_t count) {
  const std::lock_guard lock(mutex_);
  prepared_ -= count;
}

void DatagramQueuePair::complete_send(const OutgoingDatagram& datagram, WcStatus status,
                                      std::uint32_t length) {
  const WorkCompletion wc{.wr_id = datagram.wr_id,
                          .status = status,
                          .opcode = WcOpcode::kSend,
                          .byte_len = length,
                          .qp_num = init_.num};
  const bool is_error = status != WcStatus::kSuccess;
  const Reaped reaped{&reaped_, datagram.sequence + 1};
  if (!CompletionQueuePort::push(*init_.send_cq, wc, is_error, reaped)) overflowed();
}

// States ------------------------------------------------------------------------------------------

// Steps the state machine. Returns false if the table has no edge for `cause`. Several threads may
// call this function at the same time: threads that flush, and threads that find a completion queue
// full.
bool DatagramQueuePair::step(DatagramCause cause) {
  auto before = state_.load(std::memory_order_acquire);
  for (;;) {
    const auto next = bytes::step(kDatagramEdges, before, cause);
    if (!next) return false;
    if (state_.compare_exchange_weak(before, *next, std::memory_order_acq_rel)) return true;
  }
}

void DatagramQueuePair::overflowed() {
  const bool stepped = step(DatagramCause::kOverflow);
  assert(stepped);
  (void)stepped;
}

std::error_code DatagramQueuePair::set_state(DatagramState state) {
  if (!step(cause_of(state))) return make_error_code(Errc::kWrongState);
  if (state == DatagramState::kReady) send_failed_ = false;
  if (state == DatagramState::kError) {
    std::array<OutgoingDatagram, 1> none;
    (void)prepare(none);
    flush_receives(true);
  }
  if (state != DatagramState::kReset) return {};
  flush_receives(false);
  CompletionQueuePort::forget(*init_.send_cq, &reaped_);
  CompletionQueuePort::forget(*init_.recv_cq, &receives_.reaped());
  CompletionQueuePort::drop_failed(*init_.send_cq, init_.num);
  CompletionQueuePort::drop_failed(*init_.recv_cq, init_.num);
  const std::lock_guard lock(mutex_);
  prepared_ = posted_;
  left_ = posted_;
  reaped_.store(posted_);
  receives_.reaped().store(init_.srq != nullptr ? shared_taken_ : receives_.taken());
  send_failed_ = false;
  arrivals_.clear();
  waiting_.clear();
  return {};
}

void DatagramQueuePair::flush_receives(bool announced) {
  PostedReceive receive;
  while (init_.srq == nullptr && receives_.take(receive)) {
    if (!announced) continue;
    complete_receive({.wr_id = receive.wr_id,
                      .status = WcStatus::kWrFlush,
                      .opcode = WcOpcode::kRecv,
                      .qp_num = init_.num});
  }
}

}  // namespace iwarp::verbs
