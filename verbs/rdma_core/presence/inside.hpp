// SPDX-License-Identifier: Apache-2.0
// While this library itself opens and looks, its functions are the system's.
#pragma once

#include <cerrno>

namespace iwarp::rdma_core::presence {

/// Also leaves errno as it was.
class Inside {
 public:
  Inside() : before_(inside), errno_(errno) { inside = true; }
  ~Inside() {
    inside = before_;
    errno = errno_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool now() { return inside; }

 private:
  static inline thread_local bool inside = false;
  const bool before_;
  const int errno_;
};

}  // namespace iwarp::rdma_core::presence
