// SPDX-License-Identifier: Apache-2.0
// Unanswered: watches queue pairs that were brought up without the CM and whose peer never
// connected or has disconnected. With acknowledged completions, their requests wait for the peer
// for the time that `timeout` and `retry_cnt` set, and then fail. They wait because without a CM no
// event reports the end of a connection: programs simply disconnect. A program that posted more
// requests than its peer consumed must not see failures before it has polled the successful
// completions.
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
  /// Call when the queue pair is ready to send and not connected. With `limit` 0 its requests wait
  /// forever.
  void await(verbs::QpNum num, std::chrono::nanoseconds limit);
  /// Call when the queue pair could not be connected. Its requests fail at the next check, which
  /// also logs `why`. Returns false if requests do not wait for a peer in this configuration.
  bool peer_unreachable(verbs::QpNum num, const std::string& why);
  /// Call when the connection is over and no event reports this to the program. Outstanding
  /// requests, and requests that are posted later, then fail after at least one limit and less than
  /// two. The limit is the time that the program has set, but two seconds at most. Returns false if
  /// requests do not wait in this configuration, or if they wait for their peer forever.
  bool peer_left(RcQp& qp);
  /// Call when the queue pair was reset or destroyed.
  void forget(verbs::QpNum num);

  // Called by the dispatcher.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  struct Wait {
    Clock::duration limit{};
    Clock::time_point due = Clock::time_point::max();
    bool is_ready = false;           ///< the queue pair is ready to send
    bool is_unreachable = false;     ///< the peer could not be reached
    std::string why;                 ///< why connecting failed; empty if it did not
    bool peer_disconnected = false;  ///< the peer has disconnected and is not awaited
    bool has_requests = false;       ///< the queue pair had requests at the last check
  };

  /// Checks one queue pair whose wait is due. Returns false if it no longer waits for its peer.
  bool look_at(RcQp& qp, Wait& wait, Clock::time_point now);
  void look_at_due(Clock::time_point now);
  /// Sets the timer to the earliest due time. Call with mutex_ held.
  void arm();

  Core& core_;
  OutOfBand& bring_up_;
  /// Whether requests complete only when the peer has acknowledged them. Otherwise requests
  /// complete when the core has sent them, and never wait for a peer.
  const bool requests_wait_;
  net::UniqueFd timer_;
  std::mutex mutex_;  ///< leaf lock: not held while a queue pair is checked
  std::unordered_map<verbs::QpNum, Wait> waits_;
};

}  // namespace iwarp::rdma_core
