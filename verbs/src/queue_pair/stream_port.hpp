// SPDX-License-Identifier: Apache-2.0
// StreamPort: the functions of a queue pair that a Connection and its RDMAP stream call. The stream
// fetches requests, receives and memory (rdmap::Ulp). The connection opens the port, reports events
// of the stream, and calls settle(). Only the port changes the queue pair's state. Call with the
// connection lock held, or without a connection.
#pragma once

#include "iwarp/rdmap/faults.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/qp_fsm.hpp"
#include "queue_pair/inbound_side.hpp"
#include "queue_pair/send_queue.hpp"

namespace iwarp::verbs {

class Observed;

class StreamPort final : private rdmap::Ulp {
 public:
  StreamPort(QpShared& qp, SendRing& ring) : qp_(qp), ring_(ring), send_(qp, ring), inbound_(qp) {}

  /// The terms that the two ends have negotiated, and options of this end.
  struct Terms {
    std::uint16_t ird = 0;
    std::uint16_t ord = 0;
    bool peer_answers_none = false;  ///< `ord` is 0 because the peer answers no Reads
    bool extensions = false;         ///< whether both ends support RFC 7306
    bool send_immediate = false;     ///< whether both ends support Send with Immediate
    /// whether a Send waits, instead of failing, if no receive is posted
    bool hold_on_empty = false;
    /// Maximum number of empty Reads in flight, with which this end asks for acknowledgements. If
    /// it is 0, requests complete when they have been sent; otherwise, when the peer has placed
    /// them.
    std::size_t acknowledging_reads = 0;
    mpa::Rtr rtr = mpa::Rtr::kNone;  ///< the RTR of this end
  };
  /// Moves the queue pair from Idle to RTS. Returns false if the queue pair is not Idle or is
  /// already connected. Until the stream is over, holds a reference to `driver`, and reports posted
  /// and completed work to `observed` unless `observed` is null. Resets the counts of the stream.
  /// [VRB-7]
  bool open(QpDriver& driver, const Terms& terms, const Observed* observed);
  /// Steps the state machine by `event`, and then completes and flushes requests as the new state
  /// requires.
  void event(QpEvent event);
  /// Reports that the stream ends because of a fault of the peer, which `terminate` describes. If
  /// `departs`, this end sends the Terminate to the peer, and query() returns it. Otherwise the
  /// connection ends without a Terminate on the wire, and only an event contains `terminate`.
  void peer_fault(const rdmap::Terminate& terminate, bool departs);
  /// Makes query() report that a request or receive failed because of this end.
  void local_error() { qp_.local_error.store(true, std::memory_order_release); }
  /// Reports that the connection was lost or that the peer no longer answers. Call before the
  /// resulting event().
  void peer_gone() {
    if (send_.is_acknowledged() && state() == QpState::kRts) send_.peer_gone();
  }
  /// Moves a queue pair without a connection to Error by kLowerLayerLost. Returns false if the
  /// queue pair is connected. If another thread is connecting it at the same time, either that
  /// thread is first and this function returns false, or that thread finds the queue pair in Error.
  /// If `unanswered`, also returns false if the queue pair is not in Idle; otherwise first fails
  /// the oldest request.
  bool end_unconnected(bool unanswered);
  /// Returns how long the queue pair waits for a silent peer that owes an answer. Returns nullopt
  /// if no answer is due or there is no limit.
  std::optional<mpa::Duration> answer_limit() const;
  /// Returns the time that a Send waits for a receive, if the application has set it; see
  /// PeerTimeouts.
  std::optional<mpa::Duration> receive_hold() const;
  /// Records that an arrived message has been waiting for a receive since `now`.
  void await_receive(mpa::TimePoint now) {
    qp_.receive_awaited_since.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// Reports that an arrived message has been waiting for a receive for a long time.
  void receive_overdue() { qp_.async(AsyncEventType::kReceiveOverdue); }
  /// Completes requests that were sent, and flushes requests that were posted since the queue pair
  /// left RTS. Returns true once when the stream has to end because of this end; see
  /// SendQueue::take_failure(). Called by Connection::settle().
  bool settle() {
    if (qp_.state.load(std::memory_order_acquire) != QpState::kRts) flush_posted();
    send_.settle();
    return qp_.local_failure.load(std::memory_order_relaxed) != LocalFailure::kNone &&
           send_.take_failure();
  }
  /// See InboundSide::drop_held().
  bool drop_held() { return inbound_.drop_held(); }
  /// Delays pending output until the application polls.
  void let_posts_wait() {
    CompletionQueuePort::let_posts_wait(*qp_.init.send_cq);
    CompletionQueuePort::let_posts_wait(*qp_.init.recv_cq);
  }
  /// Flushes posted requests and receives if the queue pair is in a state that flushes.
  void flush_posted();
  /// Makes all requests in flight, and the receive being filled, unpin an invalid region. Returns
  /// whether any of them still needs octets of the region; if so, the stream has to end.
  /// `mid_message` is true if the request that was started last has not been framed completely.
  bool revoke(const Region& region, bool mid_message);

  /// Returns whether a segment or message that is arriving uses `region`.
  bool holds(const Region& region) const { return inbound_.holds(region); }
  /// Ends only the peer's accesses to the region. Returns whether the receive being filled needs
  /// the region; if so, the stream has to end.
  bool withdraw(const Region& region) { return inbound_.revoke(region); }

  /// Fails the work in flight whose buffers contain `address`, which is no longer mapped.
  void memory_gone(const std::byte* address) {
    inbound_.memory_gone(address);
    send_.memory_gone(address);
  }

  /// Returns why the stream ended: `cause`, which the connection passes, and what the queue pair
  /// has recorded about the end.
  StreamEnd end(StreamEnd::Cause cause) const;

  // SendQueue and InboundSide document the following functions.
  std::optional<EndedWork> oldest_outstanding() { return send_.oldest_outstanding(); }
  std::uint64_t outstanding() const { return send_.outstanding(); }
  bool is_idle() const { return send_.is_idle(); }
  bool awaits_answer() const { return send_.awaits_answer(); }
  bool has_request() const { return send_.has_request(); }
  bool only_ack_request() const { return send_.only_ack_request(); }
  bool is_acknowledged() const { return send_.is_acknowledged(); }
  bool is_mid_message() const { return inbound_.is_mid_message(); }
  bool finish_invalidate() { return inbound_.finish_invalidate(); }
  Grant take_target() { return inbound_.take_target(); }
  std::expected<std::byte*, AccessError> atomic_word(const rdmap::AtomicRequest& request) {
    return inbound_.atomic_word(request);
  }

  // queue_pair_port.hpp documents the following functions.
  void make_unreliable() { qp_.is_unreliable = true; }
  bool has_stopped_sends() const { return qp_.flush_before.load() == SendRing::kNever; }
  void resume_sends();
  void hold_sends(bool reports);
  void release_sends();
  void report_first_message() { qp_.reports_first = true; }
  /// Reports that a segment has arrived, except the one that establishes the connection.
  void segment_arrived() {
    if (qp_.reports_first.exchange(false)) qp_.async(AsyncEventType::kFirstMessage);
  }

  // The queue pair calls the following functions.
  ReceiveQueue& receive_queue() { return inbound_.receive_queue(); }
  ReapCount& shared_reaped() { return inbound_.shared_reaped(); }

  rdmap::Ulp& ulp() { return *this; }
  QpState state() const { return qp_.state.load(std::memory_order_acquire); }
  std::uint64_t octets_placed() const { return send_.octets_placed() + inbound_.octets_placed(); }
  std::uint64_t completions() const { return qp_.completions.load(std::memory_order_relaxed); }

 private:
  // rdmap::Ulp
  bool next_request(bool read_credit, rdmap::Request& out) override {
    if (send_.is_acknowledged()) return send_.next_acknowledged(read_credit, out);
    if (!send_.next_request(read_credit, out)) return false;
    if (out.opcode != rdmap::Opcode::kWrite) send_.note_message(rdmap::info(out.opcode));
    return true;
  }
  void sent(std::uint64_t cookie) override {
    send_.is_acknowledged() ? send_.left(cookie) : send_.sent(cookie);
  }
  void read_done(std::uint64_t cookie) override {
    send_.is_acknowledged() ? send_.read_answered(cookie) : send_.read_done(cookie);
  }
  void atomic_done(std::uint64_t cookie, std::uint64_t original) override {
    send_.is_acknowledged() ? send_.atomic_answered(cookie, original)
                            : send_.atomic_done(cookie, original);
  }
  void delivered_before(rdmap::Msn msn) override {
    if (send_.is_acknowledged()) send_.delivered_before(msn);
  }
  std::expected<void, AccessError> write_target(Stag stag, rdmap::TaggedOffset to,
                                                std::uint32_t length, bytes::Span& out) override {
    return inbound_.write_target(stag, to, length, out);
  }
  void release_target() override { inbound_.release_target(); }
  std::expected<bytes::View, AccessError> read_source(Stag stag, rdmap::TaggedOffset to,
                                                      std::uint32_t length) override {
    return inbound_.read_source(stag, to, length);
  }
  void release_source() override { inbound_.release_source(); }
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest& request) override {
    return inbound_.atomic(request);
  }
  bytes::Check receive_buffer(ddp::UntaggedBuffer& out) override {
    return inbound_.receive_buffer(out);
  }
  bytes::Check send_received(const rdmap::ReceivedSend& send) override {
    return send.invalidate ? invalidating_send_received(send) : inbound_.send_received(send);
  }
  void terminate_received(const rdmap::Terminate& terminate) override;

  [[gnu::cold, gnu::noinline]] bytes::Check invalidating_send_received(
      const rdmap::ReceivedSend& send);
  void flush();
  void post_held();
  void report_last_receive(QpState before) const;
  bool open(QpDriver& driver, const Terms& terms);

  QpShared& qp_;
  SendRing& ring_;
  SendQueue send_;
  InboundSide inbound_;
  /// Serializes threads that post and then flush; locked before `post`.
  std::mutex flushing_;
};

StreamPort& stream_port(QueuePair& qp);

}  // namespace iwarp::verbs
