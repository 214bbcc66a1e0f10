// SPDX-License-Identifier: Apache-2.0
// While this library itself opens and stats files, its functions pass everything on to the system.
#pragma once

#include <cerrno>

namespace iwarp::rdma_core::presence {

/// Also restores errno.
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
