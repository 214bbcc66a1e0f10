// SPDX-License-Identifier: Apache-2.0
// QueuePairPort: the functions of a queue pair for a program that reports connection events itself,
// as the drop-in librdmacm does. Such a program holds completions back, so that the application
// polls no completion before a connection event that precedes it. Then come the functions that
// InfiniBand's states SQD, RTR and SQE, and its type UC, need of a queue pair.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {

/// Which completions of a queue pair may be pushed to its completion queues.
enum class Announce : std::uint8_t {
  kNothing,    ///< no completion
  kAnswered,   ///< completions before the first one with WcStatus::kWrFlush or kRetryExceeded
  kUnflushed,  ///< completions before the first one with WcStatus::kWrFlush
  kAll,        ///< all completions
};

/// Functions of a QueuePair. Thread-safe.
struct QueuePairPort {
  /// Sets which completions may be pushed to the queues. All other completions are held back, in
  /// order. The value is kAll initially and after reset(). If this throws std::bad_alloc, nothing
  /// has changed.
  static void announce(QueuePair& qp, Announce what);
  /// Pushes all completions held back, as announce(kAll) does, but pushes those of requests before
  /// those of receives. If the oldest request held back was flushed, its status is
  /// WcStatus::kRetryExceeded.
  static void announce_unanswered(QueuePair& qp);
  /// Returns whether any completion of a request is held back. Completions of receives do not
  /// count.
  static bool holds_requests(const QueuePair& qp);

  /// Moves to Error as abort() does, but first answers the peer's requests that have arrived. Then
  /// closes the connection in order, or resets it if a message is partly sent. Waits until no other
  /// thread drives the connection. Changes nothing and returns false while the peer may still ask
  /// for an acknowledgement; then call again (see ConnectionOptions::ack_request_wait).
  static bool depart(QueuePair& qp);
  /// Fails an unconnected queue pair: moves it from Idle to Error, completes the oldest request
  /// with WcStatus::kRetryExceeded and flushes all others. Fails with `Errc::kWrongState` if the
  /// queue pair is connected or not in Idle.
  static std::error_code give_up(QueuePair& qp);

  /// Removes the receives that no message has consumed and returns them, oldest first. The removed
  /// receives do not complete. Returns no receives if the queue pair uses an SRQ. Throws
  /// std::bad_alloc.
  static std::vector<PostedReceive> withdraw_receives(QueuePair& qp);
  /// Returns the arrival time of the message that waits for a receive, or nullopt if no message
  /// waits or a receive for it has been posted.
  static std::optional<std::chrono::steady_clock::time_point> receive_awaited_since(
      const QueuePair& qp);
};

// The states SQD and RTR. Thread-safe.

/// Requests that are posted from now on wait until release_sends(). If the connection ends before,
/// they are flushed. Requests that were posted before are executed; if `reports`,
/// AsyncEventType::kSendsDrained follows when none of them is outstanding any more.
void hold_sends(QueuePair& qp, bool reports);
/// Lets the requests that wait start.
void release_sends(QueuePair& qp);
/// Raises AsyncEventType::kFirstMessage once, when the peer's next segment has arrived.
void report_first_message(QueuePair& qp);

// The type UC: an error of a request stops only the send queue (state SQE), and an inbound message
// that cannot be placed is dropped. In both cases the connection goes on.

/// From the next connection on, a request that fails before any octet of it is sent only stops the
/// send queue: the request completes with its status, and all requests behind it complete with
/// WcStatus::kWrFlush until resume_sends(). The receive side goes on.
/// A Write of the peer that may not access its target is dropped, with the Immediate that follows
/// it. A Send or Immediate for which no receive is posted waits for PeerTimeouts::receive_hold;
/// then it is dropped, and so are all messages after it until a receive is posted. The peer notices
/// nothing.
void make_unreliable(QueuePair& qp);
/// Returns whether a failed request has stopped the send queue. True as soon as the completion of
/// that request can be polled.
bool has_stopped_sends(QueuePair& qp);
/// Starts the send queue again. Requests that were posted before this call are flushed. Does
/// nothing if the send queue is not stopped.
void resume_sends(QueuePair& qp);

}  // namespace iwarp::verbs
