// SPDX-License-Identifier: Apache-2.0
// Queue pair: the application's end of one RDMAP stream (verbs draft sections 6 and 8). The stream
// calls other, internal functions of a queue pair; see stream_port.hpp in src. A queue pair does
// not interpret payload, and does not check local buffers before it executes a request.
//
// <!-- figure: source test/net/examples.cpp | block void write_and_notify -->
// ```cpp
// void write_and_notify(QueuePair& qp, const Memory& from, RemoteAddress to) {
//   const Sge piece{.address = from.address(),
//                   .length = static_cast<std::uint32_t>(from.length()),
//                   .lkey = from.stag()};
//   // The Send arrives after the Write, and consumes a receive that the peer has posted.
//   const std::array requests{
//       SendWr{.wr_id = 1, .opcode = WrOpcode::kWrite, .sgl = {&piece, 1}, .remote = to},
//       SendWr{.wr_id = 2, .opcode = WrOpcode::kSend, .flags = SendFlags::kSignaled}};
//   must(qp.post_all(requests));
// }
// ```
// <!-- end -->
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

class SharedReceiveQueue;
class StagTable;
class StreamPort;

/// Sizes of the queues. Unused capacity takes no memory.
struct QpLimits {
  /// maximum number of outstanding requests; 0: none can be posted
  std::uint32_t max_send_wr = 128;
  /// maximum number of outstanding receives; 0: none can be posted
  std::uint32_t max_recv_wr = 128;
  /// maximum number of elements of a request's `sgl`, at most 16 [VRB-40]
  std::uint32_t max_send_sge = 4;
  /// maximum number of elements of a receive's `sgl`, at most 16 [VRB-40]
  std::uint32_t max_recv_sge = 4;
  std::uint32_t max_inline = 256;  ///< maximum size of inline payload in bytes, at most 4096
};

/// Parameters of a new queue pair. The completion queues and the SRQ must outlive the queue pair.
struct QpInit {
  QpNum num = 0;                       ///< number, 24 bits and not in use; 0: the Rnic chooses
  PdId pd = 0;                         ///< protection domain; Rnic::create_qp() fills it in
  CompletionQueue* send_cq = nullptr;  ///< gets the completions of requests; not null
  /// Gets the completions of receives; not null, may be `send_cq`.
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;  ///< replaces the queue pair's own receive queue, if not null
  QpLimits limits{};                  ///< sizes of the queues
  bool signal_all = false;  ///< whether all requests are signaled, as by SendFlags::kSignaled
  /// If set, the destructor and reset() remove from the completion queues this queue pair's failed
  /// completions that have not been polled.
  bool drop_failed = false;
  /// The name under which net::Statistics sums up the traffic of this queue pair with that of other
  /// queue pairs, or null. Must stay valid until the Rnic is destroyed.
  const char* device = nullptr;
  /// Which accesses the peer may make through this queue pair. [VRB-30]
  Access inbound = Access::kRemoteRead | Access::kRemoteWrite | Access::kRemoteAtomic;
};

/// Time limits for the peer. They apply only with Completions::kAcknowledged.
struct PeerTimeouts {
  /// How long the peer may be silent while it owes an answer. After that time, the oldest request
  /// fails with WcStatus::kRetryExceeded, and the connection is reset. With 0, only TCP's own
  /// time-outs apply.
  std::chrono::nanoseconds answer{0};
  /// Replaces ConnectionOptions::receive_hold; kForEver: no limit.
  std::optional<std::chrono::nanoseconds> receive_hold{};
  static constexpr auto kForEver = std::chrono::nanoseconds::max();
};

/// A snapshot of a queue pair. Values of a connection are kept until the next connection.
struct QpAttributes {
  QpState state = QpState::kIdle;
  std::uint16_t ird = 0;             ///< maximum number of the peer's outstanding Reads and atomics
  std::uint16_t ord = 0;             ///< maximum number of this end's outstanding Reads and atomics
  bool extensions = false;           ///< whether the peer agreed to RFC 7306 [EXT-1]
  bool send_immediate = false;       ///< whether the peer agreed to WrOpcode::kSendImmediate
  std::size_t send_outstanding = 0;  ///< number of requests posted and not completed
  std::size_t recv_outstanding = 0;  ///< number of receives posted and not consumed; 0 with an SRQ
  std::optional<rdmap::Terminate> terminate_sent{};
  std::optional<rdmap::Terminate> terminate_received{};
  bool local_error = false;  ///< whether the connection ended because of an error of this end
};

/// A reliably connected queue pair. Thread-safe. No call waits for the network. Connect it with the
/// Rnic's connection manager.
class QueuePair final {
 public:
  /// Called by the Rnic; applications call Rnic::create_qp(). The caller has checked `init`.
  /// `stags` and the queues must outlive the queue pair. Any thread may call `on_event`, possibly
  /// with locks held, so `on_event` must not call this layer.
  QueuePair(QpNum num, const QpInit& init, StagTable& stags,
            std::function<void(const AsyncEvent&)> on_event);
  /// Invalidates the windows that were bound through this queue pair. The queue pair must not be
  /// connected.
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// Posts a request to the send queue. In Idle, the request is executed after the queue pair has
  /// been connected. In Terminate, Closing and Error, it completes with WcStatus::kWrFlush. [VRB-6]
  /// [VRB-53] Local buffers are checked only when the request is executed, see
  /// WcStatus::kLocalProtection. On failure, nothing is posted. Fails with
  /// - `Errc::kQueueFull` if the queue holds max_send_wr requests that are outstanding or whose
  ///   completions have not been polled,
  /// - `Errc::kTooManySge` if `sgl` has more than max_send_sge elements,
  /// - `Errc::kMessageTooLong` if the elements of `sgl` have 2^32 bytes or more in total,
  /// - `Errc::kInlineTooLong` if the inline payload is longer than max_inline,
  /// - `Errc::kReadNeedsOneSge` if a kReadInvalidate does not have exactly one element,
  /// - `Errc::kAtomicNeedsOneWord` if an atomic does not have exactly one element, of 8 bytes,
  /// - `Errc::kNotAgreed` in RTS if the peer has not agreed to the extension that the opcode needs,
  /// - `Errc::kInvalidArgument` if kInline is set on a request that sends no payload, a kImmediate
  ///   has elements, `immediate` of a kSendImmediate has a bit set in its lower half, or the peer
  ///   would take the Immediate of another opcode for a kSendImmediate (rdmap::announces_send()),
  /// - `std::errc::not_enough_memory`.
  std::error_code post_send(const SendWr& wr);
  /// Posts requests in order until one is refused. Sets `posted` to the number of requests posted.
  /// Rings the doorbell once. Fails with the error that post_send() returns for the refused
  /// request. [VRB-41]
  std::error_code post_send(std::span<const SendWr> wrs, std::size_t& posted);
  /// Posts all requests, or none if any of them is refused. Rings the doorbell once. Fails with the
  /// errors of post_send().
  std::error_code post_all(std::span<const SendWr> wrs);
  /// Posts a receive. Allowed in every state; in Terminate and Error the receive is flushed. Fails
  /// with `Errc::kInvalidArgument` if the queue pair uses an SRQ, `Errc::kQueueFull` if max_recv_wr
  /// receives are posted or have completions that were not polled, `Errc::kTooManySge`,
  /// `Errc::kMessageTooLong` (2^32 bytes or more) or `std::errc::not_enough_memory`.
  std::error_code post_recv(const RecvWr& wr);

  QpNum num() const;      ///< number of the queue pair: 24 bits, never 0
  PdId pd() const;        ///< protection domain of the queue pair
  QpState state() const;  ///< current state
  /// Returns a snapshot of the state and of the connection.
  QpAttributes query() const;
  /// Returns the parameters of the queue pair. set_inbound() does not change their `inbound`.
  const QpInit& init() const;

  /// Closes the connection in order: sends the posted requests and then a FIN. Returns at once; the
  /// event CmEvent::Type::kDisconnected follows. Fails with `Errc::kWrongState` if not in RTS.
  std::error_code disconnect();
  /// Sends a Terminate "local catastrophic error" and closes the connection. Returns at once. Fails
  /// with `Errc::kWrongState` if not in RTS. [VRB-9]
  std::error_code terminate();
  /// Moves the queue pair to Error, flushes all requests and resets the connection, if any; if
  /// another thread is driving the connection, that thread resets it. Never fails. [VRB-11]
  std::error_code abort();
  /// Moves the queue pair from Error or Idle to Idle after all work has been flushed. Frees the
  /// slots of completed requests, even if their completions have not been polled. Fails with
  /// `Errc::kWrongState` while the queue pair is connected. [VRB-16]
  std::error_code reset();
  /// Replaces QpInit::inbound. Applies to messages that arrive after the call. [VRB-30]
  void set_inbound(Access inbound);
  /// Sets how long the connection waits for the peer before it gives up. Takes effect immediately,
  /// including for requests already in flight.
  void set_peer_timeouts(const PeerTimeouts& timeouts);
  /// Limits the ORD of the present and later connections. Fails with `Errc::kOrdTooLarge` if `ord`
  /// is above the ORD of the present connection, and with `Errc::kWrongState` if not in Idle or
  /// RTS. [VRB-25]
  std::error_code set_ord(std::uint16_t ord);

 private:
  struct Impl;
  friend StreamPort& stream_port(QueuePair& qp);
  friend struct QueuePairPort;

  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::verbs
