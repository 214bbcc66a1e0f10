// SPDX-License-Identifier: Apache-2.0
// Queue pair: the consumer's end of one RDMAP stream (verbs draft sections 6 and 8). All of this is
// called from any thread and never waits for the network. What the stream needs from it is no
// program's business: see stream_port.hpp in src.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

class SharedReceiveQueue;
struct PostedReceive;
class StagTable;
class StreamPort;

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

/// Time limits for the peer, where completions are acknowledged.
struct PeerTimeouts {
  /// When the peer owes an answer and nothing has come from it for so long, the oldest request
  /// fails with WcStatus::kRetryExceeded, and the connection is reset. 0: TCP decides.
  std::chrono::nanoseconds answer{0};
  /// In place of ConnectionOptions::receive_hold; kForEver: without end.
  std::optional<std::chrono::nanoseconds> receive_hold;
  static constexpr auto kForEver = std::chrono::nanoseconds::max();
};

struct QpAttributes {
  QpState state = QpState::kIdle;
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
  bool extensions = false;      ///< RFC 7306 was agreed on for this connection [EXT-1]
  bool send_immediate = false;  ///< and kSendImmediate
  std::size_t send_outstanding = 0;
  std::size_t recv_outstanding = 0;
  std::optional<rdmap::Terminate> terminate_sent;
  std::optional<rdmap::Terminate> terminate_received;
  bool local_error = false;  ///< the last connection ended by an error of this end's own
};

/// Which completions of a queue pair its queues get.
enum class Announce : std::uint8_t {
  kNothing,
  kAnswered,   ///< neither WcStatus::kRetryExceeded nor flushed, up to the first that is
  kUnflushed,  ///< those of work that was not flushed, up to the first that was
  kAll,
};

class QueuePair final {
 public:
  QueuePair(QpNum num, const QpInit& init, StagTable& stags,
            std::function<void(const AsyncEvent&)> on_event);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// Queues a request; allowed in Idle (processed once connected), RTS, and in Error, Terminate and
  /// Closing, where it is flushed. An error changes nothing. [VRB-6] [VRB-53]
  std::error_code post_send(const SendWr& wr);
  /// Queues in order until one is refused; `posted` says how many were. One wake-up. [VRB-41]
  std::error_code post_send(std::span<const SendWr> wrs, std::size_t& posted);
  /// Queues all of them, or none. One wake-up.
  std::error_code post_all(std::span<const SendWr> wrs);
  std::error_code post_recv(const RecvWr& wr);
  /// The receives that no message has taken, oldest first, as if they had never been posted. None
  /// where the queue is shared.
  std::vector<PostedReceive> withdraw_receives();

  QpNum num() const;
  PdId pd() const;
  QpState state() const;
  QpAttributes query() const;
  /// Returns when the message arrived that waits for a receive. Empty: no message waits, or a
  /// receive for it is posted already. Thread-safe.
  std::optional<std::chrono::steady_clock::time_point> receive_awaited_since() const;
  const QpInit& init() const;

  /// Orderly close: posted requests are sent, then FIN. Errc::kWrongState unless RTS.
  std::error_code disconnect();
  /// Terminate with "local catastrophic error", then close. [VRB-9]
  std::error_code terminate();
  /// To Error at once: the connection is reset and all requests are flushed. [VRB-11] Where
  /// another thread drives the connection, at the end of a step of that thread's.
  std::error_code abort();
  /// The same, but what has come is answered, and the connection is closed in order unless a
  /// message is half sent. Waits until no other thread drives the connection. Returns false, and
  /// changes nothing, while the peer may still ask about what it sent last: call it again until it
  /// returns true, after ConnectionOptions::ack_request_wait at the latest.
  bool depart();
  /// No peer came to an Idle one: to Error, and the oldest request fails with
  /// WcStatus::kRetryExceeded, the rest is flushed. Errc::kWrongState: it is connected.
  std::error_code give_up();
  /// Error or Idle back to Idle, once everything is flushed. What was over takes no place in the
  /// send queue any more, whether its completion was polled or not. [VRB-16]
  std::error_code reset();
  /// What the peer may do from now on, in place of QpInit::inbound. [VRB-30]
  void set_inbound(Access inbound);
  /// From now on.
  void set_peer_timeouts(const PeerTimeouts& timeouts);
  /// Limits ORD: in Idle for connections to come, in RTS at once. Errc::kOrdTooLarge: above what is
  /// in force. [VRB-25]
  std::error_code set_ord(std::uint16_t ord);
  /// Which completions may be added to the queues; the others wait, in order. For callers that
  /// report connections in other ways than by queues, so that no completion is seen before the
  /// event that precedes it. kAll at first, and after reset().
  void announce(Announce what);
  /// The same with kAll. The peer was gone for all that waits: the oldest request among it, if it
  /// was flushed, fails with WcStatus::kRetryExceeded instead.
  void announce_unanswered();
  /// A request, and not only receives, is among those that wait.
  bool holds_requests() const;

 private:
  struct Impl;
  friend StreamPort& stream_port(QueuePair& qp);

  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::verbs
