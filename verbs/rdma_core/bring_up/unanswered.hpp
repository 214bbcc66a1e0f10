// SPDX-License-Identifier: Apache-2.0
// Queue pairs brought up without the CM whose peer does not come or has disconnected. With
// InfiniBand completions, their requests wait for the peer as long as `timeout` and `retry_cnt`
// say, and then fail. Without a CM, no event reports the end of a connection: programs simply
// disconnect, and one that posted more than its peer consumed must not see failures before it has
// seen what succeeded.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

#include "iwarp/net/unique_fd.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::rdma_core {

class Core;
class OutOfBand;
struct RcQp;

class Unanswered {
 public:
  /// Throws std::system_error if no descriptor can be opened.
  Unanswered(Core& core, OutOfBand& bring_up, verbs::Completions completions);

  /// Returns a descriptor that is readable when check() is due.
  int fd() const { return timer_.get(); }
  /// The queue pair is ready to send and not connected. A `limit` of 0 waits forever.
  void await(verbs::QpNum num, std::chrono::nanoseconds limit);
  /// The queue pair could not be connected: its requests fail at the next check, and `why` is
  /// logged then. Returns false if requests do not wait for a peer in this configuration.
  bool peer_unreachable(verbs::QpNum num, const std::string& why);
  /// The connection is over, and the program is not notified: requests fail after waiting, at most
  /// two seconds. Returns false if requests do not wait in this configuration, or wait for their
  /// peer forever.
  bool peer_left(RcQp& qp);
  /// The queue pair was reset or destroyed.
  void forget(verbs::QpNum num);

  // For the dispatcher.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  struct Wait {
    Clock::duration limit{};
    Clock::time_point due = Clock::time_point::max();
    bool is_ready = false;           ///< ready to send
    bool is_unreachable = false;     ///< the peer could not be reached
    std::string why;                 ///< why connecting failed; empty if it did not
    bool peer_disconnected = false;  ///< the peer has disconnected and is not awaited
    bool has_requests = false;       ///< at the last check
  };

  /// Returns false if the queue pair no longer waits.
  bool look_at(RcQp& qp, Wait& wait, Clock::time_point now);
  void look_at_due(Clock::time_point now);
  /// Call with the lock held.
  void arm();

  Core& core_;
  OutOfBand& bring_up_;
  /// Requests wait until the peer acknowledges them; otherwise they complete once they are sent.
  const bool requests_wait_;
  net::UniqueFd timer_;
  std::mutex mutex_;  ///< leaf lock: not held while a queue pair is checked
  std::unordered_map<verbs::QpNum, Wait> waits_;
};

}  // namespace iwarp::rdma_core
