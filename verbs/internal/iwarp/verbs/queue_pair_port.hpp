// SPDX-License-Identifier: Apache-2.0
// QueuePairPort: the functions of a queue pair for a program that reports connection events itself,
// as the drop-in librdmacm does. Such a program holds completions back, so that the application
// polls no completion before a connection event that precedes it.
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

}  // namespace iwarp::verbs
