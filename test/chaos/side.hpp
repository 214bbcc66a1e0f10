// SPDX-License-Identifier: Apache-2.0
// A host, one end of a link on that host, and what the oracle knows about that end.
#pragma once

#include <array>
#include <memory>

#include "iwarp/sim/end.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/shared_receive_queue.hpp"
#include "judge/generated/random.hpp"
#include "target.hpp"

namespace iwarp::chaos {

/// The bit of a wr_id that is set for receives.
constexpr std::uint64_t kReceiveId = 1ULL << 63;

using verbs::TimePoint;

struct Receive {
  std::uint64_t id = 0;
  Block* block = nullptr;
  std::size_t at = 0;
  std::size_t size = 0;
};

struct Host {
  explicit Host(std::uint32_t seed, bool one_queue);
  Random random;
  verbs::StagTable stags;
  Blocks blocks;
  verbs::CompletionQueue cq;
  verbs::CompletionQueue second_cq;
  verbs::CompletionQueue& recv_cq;
  verbs::SharedReceiveQueue srq;
  std::map<std::uint64_t, Receive> shared;  ///< receives posted to `srq`
  Block* inbox = nullptr;                   ///< memory for the buffers of the receives in `shared`
  std::uint64_t next_receive = 0;
};

/// One end of a link.
struct Side {
  Host* host = nullptr;
  std::shared_ptr<sim::Driver> driver;
  std::unique_ptr<verbs::QueuePair> qp;
  bool signal_all = false;
  bool has_srq = false;
  Block* out = nullptr;
  Block* sink = nullptr;
  Block* inbox = nullptr;
  Target target;
  std::array<Opened, 3> opened;

  // Requests. Their indexes continue from one connection to the next; they never start again at 0.
  Ops ops;
  std::size_t first = 0;   ///< index of the first request of the current connection
  std::size_t over = 0;    ///< requests before this index have completed or were treated as done
  std::size_t reaped = 0;  ///< requests before this index no longer occupy the send queue
  std::size_t placed = 0;  ///< requests before this index have taken effect at the peer
  std::size_t next_message = 0;  ///< index of the first message whose receive has not completed yet
  std::size_t limit = SIZE_MAX;  ///< requests from this index on must not take effect at the peer
  bool has_failed = false;  ///< whether a request has failed; all later requests must be flushed
  /// Whether a receive or request has reported an error. A second report is a violation.
  bool has_error = false;

  // Receives that were posted to the queue pair's own receive queue.
  std::deque<Receive> receives;
  bool receives_flushed = false;

  bool is_established = false;
  std::size_t closes = 0;  ///< number of kLlpCloseComplete events
  verbs::Connection* connection() const { return driver->connection.get(); }
  verbs::QpState state() const { return qp->state(); }
  bool is_idle() const { return over == ops.size() || qp->query().send_outstanding == 0; }
  /// Returns whether this side has posted, on this connection, a request that is sent to the peer.
  bool has_spoken() const;
  /// Returns whether all messages of this side that consume a receive have arrived.
  bool has_received_all() const;
};

}  // namespace iwarp::chaos
