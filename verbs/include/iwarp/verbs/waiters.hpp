// SPDX-License-Identifier: Apache-2.0
// Waiters: the streams that wait until a resource is released. A waiter adds itself and then checks
// the resource once more; the releasing thread changes the state first and notifies afterwards, so
// no release is missed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

/// A set of drivers to notify once. Thread-safe; its lock is a leaf.
class Waiters {
 public:
  /// Adds `driver` unless it is in the set already or has been destroyed. Throws std::bad_alloc.
  void add(const std::weak_ptr<QpDriver>& driver);
  /// Empties the set and calls `what` on each of its drivers that still exists, without a lock
  /// held. The default resumes their streams from another thread.
  void tell(void (QpDriver::*what)() = &QpDriver::resume_soon) {
    if (any_.load()) tell_all(what);
  }

 private:
  void tell_all(void (QpDriver::*what)());

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<std::weak_ptr<QpDriver>> drivers_;
};

}  // namespace iwarp::verbs
