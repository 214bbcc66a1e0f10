// SPDX-License-Identifier: Apache-2.0
// SendQueue: the outbound part of the stream's half of a queue pair. It decides which request is
// next, which memory the request may use, and in which order requests complete (verbs draft section
// 8, RFC 7306 sections 5 and 6). Call with the connection lock held; flush() may also be called
// when there is no connection.
#pragma once

#include <utility>

#include "iwarp/rdmap/ulp.hpp"
#include "queue_pair/acknowledgements.hpp"
#include "queue_pair/qp_shared.hpp"
#include "queue_pair/send_ring.hpp"

namespace iwarp::verbs {

/// Returns the status of a request that the peer refused by `terminate`.
WcStatus status_after(const rdmap::Terminate& terminate);

class SendQueue {
 public:
  SendQueue(QpShared& qp, SendRing& ring) : qp_(qp), ring_(ring) {}

  // rdmap::Ulp documents the following functions.
  bool next_request(bool read_credit, rdmap::Request& out);
  /// Records that the last octet of a message was sent. If that finishes a request, the next
  /// settle() completes the request, so that requests sent together are completed together.
  void sent(std::uint64_t cookie);
  void settle() {
    if (std::exchange(any_sent_, false)) retire();
  }
  void read_done(std::uint64_t cookie);
  void atomic_done(std::uint64_t cookie, std::uint64_t original);

  // If the peer acknowledges requests, the following functions are called instead of those above;
  // see acknowledged_sends.cpp.
  /// Starts a new stream. `reads` is the maximum number of empty Reads in flight, with which this
  /// end asks for acknowledgements; if it is 0, this end asks for none. `rtr` is the RTR of this
  /// end, which may have used the first MSN.
  void open(std::size_t reads, mpa::Rtr rtr);
  bool is_acknowledged() const { return acks_.is_on; }
  bool next_acknowledged(bool read_credit, rdmap::Request& out);
  void left(std::uint64_t cookie);
  void read_answered(std::uint64_t cookie);
  void atomic_answered(std::uint64_t cookie, std::uint64_t original);
  /// Handles the peer's report that the message with this MSN waits for a receive, and that the
  /// peer has delivered all messages before it.
  void delivered_before(rdmap::Msn msn);
  /// Completes the requests that the peer placed before its Terminate, and fails the request that
  /// the Terminate names.
  void judge(const rdmap::Terminate& terminate);
  /// Fails the oldest request, because the peer will not answer.
  void peer_gone();
  /// Returns whether the peer owes an answer.
  bool awaits_answer() const { return acks_.under_way != 0 || reads_under_way_ != 0; }

  /// Returns whether the answer to a Read or atomic will still be placed in the memory of `stag`.
  bool awaits_answer_into(Stag stag) const;

  /// Returns whether every posted request is finished, or has been sent and needs no
  /// acknowledgement.
  bool is_idle() const {
    const auto posted = ring_.posted.load(std::memory_order_acquire);
    return ring_.retired.load() == posted || ring_.rests_at.load() == posted;
  }
  /// Returns whether next_request() may have a request to start.
  bool has_request() const {
    return started_ != ring_.posted.load(std::memory_order_acquire) || waits_for_memory_ ||
           more_due_.has_value() || acks_.is_due();
  }
  /// Returns whether next_request() would start only an empty Read, which asks for an
  /// acknowledgement.
  bool only_ack_request() const {
    return acks_.is_due() && started_ == ring_.posted.load(std::memory_order_acquire) &&
           !waits_for_memory_ && !more_due_;
  }
  /// Completes every posted request: the failed request with its error, and the requests after the
  /// failed one as flushed.
  void flush();
  /// Fails the request to which the peer's Terminate refers.
  void blame(const rdmap::Terminate& terminate);
  /// Returns the oldest request that is not complete.
  std::optional<EndedWork> oldest_outstanding();
  std::uint64_t outstanding() const {
    return is_idle() ? 0 : ring_.posted.load(std::memory_order_acquire) - ring_.retired.load();
  }
  /// Counts the MSN of a message of the Send queue that has been started. Each DDP queue has its
  /// own MSNs, which increase by one; start_other() counts those of Reads and atomics. [DDP-31]
  /// [DDP-32]
  void note_message(const rdmap::OpcodeInfo& message) {
    if (!message.tagged && message.qn == rdmap::kSendQueue) ++acks_.last_msn;
  }
  /// Returns true once when a failure at this end has to end the stream. If a request has failed,
  /// that is when every request before it is complete. Call only while QpShared::local_failure is
  /// not kNone.
  bool take_failure();
  /// Raises kSendsDrained if it is due.
  void report_drained();
  /// Makes all requests in flight unpin the region. If any of them still needs octets of the
  /// region, fails the oldest such request and returns true; the stream then has to end.
  /// `mid_message` is true if the request that was started last has not been framed completely.
  bool revoke(const Region& region, bool mid_message);
  /// Fails the oldest request in flight whose buffers contain the octet at `address`.
  void memory_gone(const std::byte* address);
  std::uint64_t octets_placed() const { return octets_placed_; }

 private:
  bool may_start(const SendSlot& slot, bool read_credit);
  bool awaits_group(const SendSlot& slot);
  bool may_read(bool read_credit) const;
  bool run_local(SendSlot& slot);
  void wait_for_memory(Stag stag);
  bool next_other(bool read_credit, rdmap::Request& out);
  bool start_plain(SendSlot& slot, rdmap::Request& out);
  bool start_other(SendSlot& slot, rdmap::Request& out);
  bool permitted(SendSlot& slot);
  bool pin_buffers(SendSlot& slot, const AccessRequest& who, bytes::Gather& out);
  static void fill_request(SendSlot& slot, rdmap::Request& out);
  void make_first(const SendSlot& slot, rdmap::Request& out);
  bool take_next(bool read_credit, rdmap::Request& out);
  bool take_next_read(SendSlot& slot, rdmap::Request& out);
  static void fill_payload(const SendSlot& slot, rdmap::Request& out);
  static void fill_sink(SendSlot& slot, std::size_t part, rdmap::Request& out);
  void response_done(SendSlot& slot);
  static EndedWork described(const SendSlot& slot);
  void blame(SendSlot& slot, WcStatus status);
  void fail(SendSlot& slot, WcStatus status);
  void fail_now(SendSlot& slot, WcStatus status);
  bool flush_stopped();
  std::optional<EndedWork> sent_work(const rdmap::Terminate& terminate);
  void finish(SendSlot& slot);
  void retire();
  bool invalidate_sink(SendSlot& slot);
  void complete(SendSlot& slot, std::uint64_t sequence);
  void push_completion(const SendSlot& slot, std::uint64_t sequence);
  bool is_over(const SendSlot& slot, std::uint64_t sequence) const {
    return slot.stage == SendSlot::Stage::kDone ||
           (slot.stage == SendSlot::Stage::kLeft && sequence < acks_.acknowledged);
  }

  bool may_acknowledge(bool read_credit);
  void note_started();
  void note_fence();
  void note_rest();
  void acknowledge(std::uint64_t sequence);
  void blame_oldest(WcStatus status);
  const Acknowledgements::Own* own_read(const rdmap::Terminate& terminate) const;
  std::optional<std::uint64_t> named_by(const rdmap::Terminate& terminate);
  std::optional<std::uint64_t> request_named(const rdmap::Subject& subject);
  std::optional<std::uint64_t> oldest_write(const rdmap::Subject::Segment& segment);
  std::optional<std::uint64_t> send_with(ddp::Msn msn);
  template <typename Predicate>
  std::optional<std::uint64_t> oldest(Predicate is_it);

  QpShared& qp_;
  SendRing& ring_;
  const AccessRequest reader_{.pd = qp_.init.pd, .qp = qp_.num};
  const AccessRequest writer_{.pd = qp_.init.pd, .qp = qp_.num, .need = Access::kLocalWrite};
  Acknowledgements acks_;
  std::uint64_t started_ = 0;        ///< number of requests started: posted >= started >= retired
  std::size_t reads_under_way_ = 0;  ///< number of Reads and atomics without an answer
  std::uint64_t read_octets_ = 0;    ///< number of octets of Reads without an answer
  std::uint64_t group_end_ = 0;      ///< Reads before this sequence number await no group
  /// The request of which next_request() has returned some messages but not all. next_request()
  /// returns the next message of this request before a message of any other request.
  std::optional<std::uint64_t> more_due_;
  /// The request that cannot be executed. The requests before it are executed and complete first.
  std::uint64_t failed_ = SendRing::kNever;
  bool any_sent_ = false;          ///< whether sent() was called since the last settle()
  bool waits_for_memory_ = false;  ///< whether a request waits for other streams to unpin an STag
  std::uint64_t octets_placed_ = 0;
};

}  // namespace iwarp::verbs
