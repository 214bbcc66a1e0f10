// SPDX-License-Identifier: Apache-2.0
// Streams that wait for something that others let go of. Who waits adds itself and looks once more;
// who lets go changes what there is and tells: one of the two sees the other. Thread safe; a leaf.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

class Waiters {
 public:
  /// `driver` is told once; nobody's stream waits for nothing.
  void add(const std::weak_ptr<QpDriver>& driver);
  /// Resumes, soon and elsewhere, the streams of all that were added.
  void tell() {
    if (any_.load()) tell_all();
  }

 private:
  void tell_all();

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<std::weak_ptr<QpDriver>> drivers_;
};

}  // namespace iwarp::verbs
