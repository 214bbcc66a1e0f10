// SPDX-License-Identifier: Apache-2.0
// Streams that wait until others release something. Who waits adds itself and then checks once
// more; who releases first changes the state and then tells: so no release is missed. Thread safe;
// its lock is a leaf.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

class Waiters {
 public:
  /// `driver` is told once; a driver that is gone is skipped.
  void add(const std::weak_ptr<QpDriver>& driver);
  /// Resumes, soon and elsewhere, the streams of all that were added.
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
