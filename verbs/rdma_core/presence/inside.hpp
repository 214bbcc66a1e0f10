// SPDX-License-Identifier: Apache-2.0
// Inside: marks a thread while the library itself opens or examines files in this thread. While a
// thread is marked, the replaced functions pass its calls to the C library unchanged.
#pragma once

#include <cerrno>

#include "process/errno_table.hpp"

namespace iwarp::rdma_core::presence {

using rdma_core::or_no_memory;

/// The constructor marks this thread, so that the replaced functions pass its calls to the C
/// library unchanged. The destructor restores the previous mark, and the errno that the constructor
/// found.
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
