// SPDX-License-Identifier: Apache-2.0
// Queue pairs brought up without the CM whose peer does not come, or has gone. Where completions
// are those of InfiniBand their requests wait for it as long as `timeout` and `retry_cnt` say, and
// fail then. No CM tells of the end there either, so programs part without a word, and one that
// posted more than its peer wanted must not hear of that before it has seen what succeeded.
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
  /// Throws std::system_error when there is no descriptor to be had.
  Unanswered(Core& core, OutOfBand& bring_up);

  /// Readable when check() is due.
  int fd() const { return timer_.get(); }
  /// The queue pair is ready to send, and nobody is connected to it. 0: waits without end.
  void await(verbs::QpNum num, std::chrono::nanoseconds limit);
  /// It could not be connected: requests need not wait for longer than until they are seen, and
  /// `why` is said then. False: requests do not wait for the peer at all here.
  bool peer_unreachable(verbs::QpNum num, const std::string& why);
  /// Its connection is over, and the program is not told: requests fail when they have waited, for
  /// two seconds at most. False: nothing waits here, or the program waits for its peer without end.
  bool peer_left(RcQp& qp);
  /// It is reset, or gone.
  void forget(verbs::QpNum num);

  // For the dispatcher.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  struct Wait {
    Clock::duration limit{};
    Clock::time_point due = Clock::time_point::max();
    bool is_ready = false;      ///< to send
    bool nobody = false;        ///< where the peer should be
    std::string why;            ///< connecting failed; empty: it did not
    bool left = false;          ///< and is not awaited
    bool has_requests = false;  ///< had them at the last look
  };

  /// False: nothing is waited for any more.
  bool look_at(RcQp& qp, Wait& wait, Clock::time_point now);
  void look_at_due(Clock::time_point now);
  /// Under the lock.
  void arm();

  Core& core_;
  OutOfBand& bring_up_;
  net::UniqueFd timer_;
  std::mutex mutex_;  ///< a leaf: not held while a queue pair is looked at
  std::unordered_map<verbs::QpNum, Wait> waits_;
};

}  // namespace iwarp::rdma_core
