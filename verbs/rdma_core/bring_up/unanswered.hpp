// SPDX-License-Identifier: Apache-2.0
// Unanswered: watches queue pairs that are used without the CM, and whose peer never connected or
// has disconnected. As RoCE, and as an RNIC with acknowledged completions, requests of such a queue
// pair wait for the peer as long as `timeout` and `retry_cnt` allow, and then fail. Requests do not
// fail at once for two reasons. First, without the CM, a peer simply disconnects, and no event
// reports the end of the connection to the program. Second, a program that has posted more requests
// than its peer consumed must not see failures before it has polled the successful completions.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

#include "bring_up/bring_up_fsm.hpp"
#include "iwarp/verbs/types.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

class Core;
class OutOfBand;
struct RcQp;

class Unanswered {
 public:
  using Clock = std::chrono::steady_clock;

  Unanswered(Core& core, OutOfBand& bring_up, const Settings& settings);

  /// Call when the queue pair is in RTS and not connected. Its requests then wait at least `limit`
  /// for the peer, or forever if `limit` is 0.
  void await(verbs::QpNum num, std::chrono::nanoseconds limit);
  /// Call in the dispatcher when the queue pair could not be connected. Its requests fail at the
  /// next check, which also logs `why`. If requests never wait for a peer, the function does
  /// nothing and returns false.
  bool peer_unreachable(verbs::QpNum num, const std::string& why);
  /// Call in the dispatcher when the connection is over and no event reports this to the program.
  /// After that, outstanding requests and requests that are posted later fail when they have waited
  /// for at least one interval, but less than two. The interval is the time that the program has
  /// set with `timeout` and `retry_cnt`, but at most two seconds, and two seconds with `timeout` 0.
  /// If requests never wait for a peer, the function does nothing and returns false.
  bool peer_left(RcQp& qp);
  /// Call when the queue pair was reset or destroyed. Stops watching it.
  void forget(verbs::QpNum num);

  /// Checks the queue pairs whose checks are due. Returns the time of the next check. Only the
  /// dispatcher calls this function.
  Clock::time_point check();

 private:
  struct Wait {
    Clock::duration limit{};
    Clock::time_point due = Clock::time_point::max();
    WaitState state = WaitState::kNew;
    std::string why;            ///< why the peer could not be reached; otherwise empty
    bool has_requests = false;  ///< the queue pair had requests at the previous check
    void step(WaitEvent event) { state = bytes::step(kWaitEdges, state, event).value_or(state); }
  };

  /// Checks a queue pair whose check is due. Returns false if the queue pair no longer waits for
  /// its peer.
  bool look_at(RcQp& qp, Wait& wait, Clock::time_point now);
  void look_at_due(Clock::time_point now);

  Core& core_;
  OutOfBand& bring_up_;
  /// Whether requests wait for a peer that is not connected: as RoCE, because a program written for
  /// InfiniBand expects that, and with acknowledged completions.
  const bool requests_wait_;
  /// No other lock is taken while this mutex is locked, so it is unlocked while a queue pair is
  /// checked.
  std::mutex mutex_;
  std::unordered_map<verbs::QpNum, Wait> waits_;
};

}  // namespace iwarp::rdma_core
