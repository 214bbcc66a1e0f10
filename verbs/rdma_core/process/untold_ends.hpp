// SPDX-License-Identifier: Apache-2.0
// UntoldEnds: connections whose end a program has seen by a failed completion before the log could
// tell why they ended. Many programs exit at once then; the line is for the person who looks for
// the reason.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

class UntoldEnds {
 public:
  /// A completion of that queue pair has failed, and the dispatcher has not dealt with the end yet.
  void seen(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    untold_.insert(num);
  }
  /// The dispatcher has dealt with the end of that queue pair's connection.
  void told(verbs::QpNum num) {
    const std::lock_guard lock(mutex_);
    if (untold_.erase(num) != 0) told_.notify_all();
  }
  /// The queue pair is about to be destroyed: its end is told first.
  void await(verbs::QpNum num) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kLimit, [&] { return !untold_.contains(num); });
    untold_.erase(num);
  }
  /// The process is about to exit.
  void await_all() {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, kLimit, [&] { return untold_.empty(); });
  }

 private:
  static constexpr std::chrono::milliseconds kLimit{200};

  std::mutex mutex_;  ///< a leaf
  std::condition_variable told_;
  std::unordered_set<verbs::QpNum> untold_;
};

}  // namespace iwarp::rdma_core
