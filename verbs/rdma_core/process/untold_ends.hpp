// SPDX-License-Identifier: Apache-2.0
// UntoldEnds: connections whose end a program has seen in a failed completion before the dispatcher
// has logged the reason. Many programs exit at once after such a completion. To get the reason into
// the log, destroying the queue pair and exiting wait for the dispatcher.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

class UntoldEnds {
 public:
  /// Call when a completion of that queue pair has failed, and the dispatcher has not handled the
  /// end of its connection yet.
  void seen(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    untold_.insert(num);
  }
  /// Call when the dispatcher has handled the end of that queue pair's connection.
  void told(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    if (untold_.erase(num) != 0) told_.notify_all();
  }
  /// Waits until the dispatcher has handled the end of that queue pair's connection, but for kLimit
  /// at most. Call before the queue pair is destroyed.
  void await(verbs::QpNum num) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kLimit, [&] { return !untold_.contains(num); });
    untold_.erase(num);
  }
  /// Waits until the dispatcher has handled all ends, but for kLimit at most. Call when the process
  /// is about to exit.
  void await_all() {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kLimit, [&] { return untold_.empty(); });
  }

 private:
  static constexpr std::chrono::milliseconds kLimit{200};

  std::mutex mutex_;  ///< leaf: no other lock is taken while it is held
  std::condition_variable told_;
  std::unordered_set<verbs::QpNum> untold_;
};

}  // namespace iwarp::rdma_core
