// SPDX-License-Identifier: Apache-2.0
// UnloggedEnds: the connections whose end the program has seen in a failed completion before the
// dispatcher has logged the reason. Many programs exit at once after a failed completion. To ensure
// that the reason is logged, ibv_destroy_qp() and the exit of the process wait for the dispatcher.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

class UnloggedEnds {
 public:
  /// Call when the program has polled a failed completion of this queue pair, and the dispatcher
  /// has not handled the end of the connection yet.
  void seen(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    unlogged_.insert(num);
  }
  /// Call when the dispatcher has handled the end of the connection of this queue pair.
  void logged(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    if (unlogged_.erase(num) != 0) logged_.notify_all();
  }
  /// Waits until the dispatcher has handled the end of the connection of this queue pair, but at
  /// most for kLimit. Call before the queue pair is destroyed.
  void await(verbs::QpNum num) {
    std::unique_lock lock(mutex_);
    logged_.wait_for(lock, kLimit, [&] { return !unlogged_.contains(num); });
    unlogged_.erase(num);
  }
  /// Waits until the dispatcher has handled the ends of all connections for which seen() was
  /// called, but at most for kLimit. Call when the process is about to exit.
  void await_all() {
    std::unique_lock lock(mutex_);
    logged_.wait_for(lock, kLimit, [&] { return unlogged_.empty(); });
  }

 private:
  static constexpr std::chrono::milliseconds kLimit{200};

  std::mutex mutex_;  ///< no other lock is taken while this mutex is locked
  std::condition_variable logged_;
  std::unordered_set<verbs::QpNum> unlogged_;
};

}  // namespace iwarp::rdma_core
