// SPDX-License-Identifier: Apache-2.0
// Queue pair: the consumer's end of one RDMAP stream (verbs draft sections 6 and 8).
// The upper half (post_*, query) is called by the consumer from any thread and never waits for the
// network. The lower half belongs to the Connection and whoever drives it.
// Owns the QP state machine. Queue slots, completions in order and flushing are decided here;
// octets, segments and Terminates are not.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/rdmap/ulp.hpp"
#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/qp_fsm.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {

/// What is not used takes no memory.
struct QpLimits {
  std::uint32_t max_send_wr = 128;  ///< 0: nothing can be posted
  std::uint32_t max_recv_wr = 128;  ///< 0: nothing can be posted
  std::uint32_t max_send_sge = 4;   ///< at most 16 [VRB-40]
  std::uint32_t max_recv_sge = 4;   ///< at most 16 [VRB-40]
  std::uint32_t max_inline = 256;   ///< octets, at most 4096
};

struct QpInit {
  QpNum num = 0;  ///< 24 bits, free; 0: the Rnic picks one
  PdId pd = 0;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;  ///< then the QP has no receive queue of its own
  QpLimits limits;
  bool signal_all = false;  ///< every send queue request is signalled
  /// Its completions without success that were not polled leave the queues with it, and with
  /// reset().
  bool drop_failed = false;
  /// What the peer may do. [VRB-30]
  Access inbound = Access::kRemoteRead | Access::kRemoteWrite | Access::kRemoteAtomic;
};

struct QpAttributes {
  QpState state = QpState::kIdle;
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
  bool extensions = false;  ///< RFC 7306 was agreed on for this connection [EXT-1]
  std::size_t send_outstanding = 0;
  std::size_t recv_outstanding = 0;
  std::optional<rdmap::Terminate> terminate_sent;
  std::optional<rdmap::Terminate> terminate_received;
};

/// Told that a queue pair has new work or shall change; the driver behind it acts.
class QpDriver {
 public:
  virtual void posted() = 0;          ///< send queue: something to send
  virtual void receive_posted() = 0;  ///< a stream held for want of a buffer may go on
  virtual void disconnect() = 0;      ///< orderly close
  virtual void terminate() = 0;       ///< the consumer ends the stream [VRB-9]
  virtual void abort() = 0;           ///< reset the connection [VRB-11]

 protected:
  ~QpDriver() = default;
};

class Connection;

class QueuePair final : private rdmap::Ulp {
 public:
  QueuePair(QpNum num, const QpInit& init, StagTable& stags,
            std::function<void(const AsyncEvent&)> on_event);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // Consumer ------------------------------------------------------------------------------------
  /// Queues a request; allowed in Idle (processed once connected), RTS, and in Error, Terminate and
  /// Closing, where it is flushed. An error changes nothing. [VRB-6] [VRB-53]
  std::error_code post_send(const SendWr& wr);
  /// Queues in order until one is refused; `posted` says how many were. One wake-up. [VRB-41]
  std::error_code post_send(std::span<const SendWr> wrs, std::size_t& posted);
  /// Queues all of them, or none. One wake-up.
  std::error_code post_all(std::span<const SendWr> wrs);
  std::error_code post_recv(const RecvWr& wr);

  QpNum num() const { return num_; }
  PdId pd() const { return init_.pd; }
  QpState state() const { return state_.load(std::memory_order_acquire); }
  QpAttributes query() const;
  const QpInit& init() const { return init_; }

  /// Orderly close: posted requests are sent, then FIN. Errc::kWrongState unless RTS.
  std::error_code disconnect();
  /// Terminate with "local catastrophic error", then close. [VRB-9]
  std::error_code terminate();
  /// To Error at once: the connection is reset and all requests are flushed. [VRB-11]
  std::error_code abort();
  /// Error or Idle back to Idle, once everything is flushed. [VRB-16]
  std::error_code reset();
  /// What the peer may do from now on, in place of QpInit::inbound. [VRB-30]
  void set_inbound(Access inbound) { inbound_.store(inbound); }
  /// Limits ORD: in Idle for connections to come, in RTS at once. Errc::kOrdTooLarge: above what is
  /// in force. [VRB-25]
  std::error_code set_ord(std::uint16_t ord);

  // Connection: under its lock ------------------------------------------------------------------
  /// Idle to RTS; false: it is not Idle, or connected. `driver` is kept until the stream is over.
  /// The counts of the stream start anew with it. [VRB-7]
  /// `extensions`: RFC 7306 was agreed on.
  bool connected(std::shared_ptr<QpDriver> driver, std::uint16_t ird, std::uint16_t ord,
                 bool extensions = false);
  /// What the RDMAP stream asks.
  rdmap::Ulp& ulp() { return *this; }
  /// A state event; completes and flushes as the new state wants.
  void event(QpEvent event);
  /// We terminate the stream: remembered for query(), told as an event.
  void terminate_sent(const rdmap::Terminate& terminate);
  /// Flushes what was posted since the queue pair left RTS.
  void flush_posted();
  /// Wait for a receive instead of failing when none is posted.
  void set_hold_on_empty(bool hold);
  /// A request could not be executed for a local reason, so the stream has to end. Once.
  bool take_local_failure();
  /// Everything posted on the send queue is finished.
  bool send_idle() const;
  /// next_request() has something to start, or at least to look at.
  bool send_waiting() const;
  /// An invalidate waits until other streams let go of the memory: poll again soon.
  bool waiting_for_pins() const;
  /// A Send with Invalidate whose memory somebody else still had in use: completes its receive if
  /// that is over. False: not yet; nothing more may be received meanwhile.
  bool finish_invalidate();
  /// The region became invalid. Lets go of it where its octets are not needed any more; true: they
  /// are, and the stream has to end. `mid_message`: the last request started is not all framed.
  bool revoke(const Region& region, bool mid_message);
  std::uint64_t octets_placed() const;
  std::uint64_t completions() const;

 private:
  struct SendSlot;
  struct Impl;

  // rdmap::Ulp
  bool next_request(bool read_credit, rdmap::Request& out) override;
  void sent(std::uint64_t cookie) override;
  void read_done(std::uint64_t cookie) override;
  void atomic_done(std::uint64_t cookie, std::uint64_t original) override;
  std::expected<bytes::Span, AccessError> write_target(Stag stag, rdmap::TaggedOffset to,
                                                       std::uint32_t length) override;
  void release_target() override;
  std::expected<bytes::View, AccessError> read_source(Stag stag, rdmap::TaggedOffset to,
                                                      std::uint32_t length) override;
  void release_source() override;
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest& request) override;
  bytes::Result<ddp::UntaggedBuffer> receive_buffer() override;
  bytes::Result<void> send_received(const rdmap::ReceivedSend& send) override;
  void terminate_received(const rdmap::Terminate& terminate) override;

  std::error_code check(const SendWr& wr) const;
  std::error_code enqueue(const SendWr& wr);
  void work_posted(QpDriver* driver);
  std::shared_ptr<QpDriver> driver() const;
  enum class Local : std::uint8_t { kDone, kWait, kFailed };
  Local run_local(SendSlot& slot);
  bool may_start(const SendSlot& slot, bool read_credit) const;
  bool resolve(SendSlot& slot);
  bool permitted(SendSlot& slot);
  void fill_request(SendSlot& slot, rdmap::Request& out);
  void fill_sink(SendSlot& slot, rdmap::Request& out);
  void response_done(SendSlot& slot);
  void fail(SendSlot& slot, WcStatus status);
  void finish(SendSlot& slot);
  void retire();
  bool settle(SendSlot& slot);
  void complete_send(SendSlot& slot, std::uint64_t sequence);
  void complete_receive(WorkCompletion wc);
  void flush();
  void flush_receives();
  void drop_failed();
  void push(CompletionQueue& cq, const WorkCompletion& wc, bool notify,
            CompletionQueue::Reaped reaped);
  void blame(const rdmap::Terminate& terminate);
  bool take_receive();
  bool resolve_receive();
  void async(AsyncEventType type, const std::optional<rdmap::Terminate>& terminate = {});

  const QpNum num_;
  const QpInit init_;
  std::atomic<Access> inbound_;
  StagTable& stags_;
  const std::function<void(const AsyncEvent&)> on_event_;
  std::atomic<QpState> state_{QpState::kIdle};
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::verbs
