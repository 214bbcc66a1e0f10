// SPDX-License-Identifier: Apache-2.0
// CallSite: records where the program called the C interface, so that hooks can report the place.
// It costs one store per call. The stack is unwound only if a report also needs the callers.
#pragma once

namespace iwarp::rdma_core {

/// Declare it first in a function of the C interface: `const CallSite
/// here(__builtin_return_address(0))`. If a function of the C interface calls another one, only the
/// outer call is recorded.
class CallSite {
 public:
  explicit CallSite(const void* return_address) : is_outermost_(current_ == nullptr) {
    if (is_outermost_) current_ = return_address;
  }
  ~CallSite() {
    if (!is_outermost_) return;
    current_ = nullptr;
    ++calls_;
  }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  /// Returns the return address of the call that this thread is executing, or null if it executes
  /// none.
  static const void* current() { return current_; }
  /// Returns how many calls of this thread have ended. As long as this number does not change, the
  /// thread is in the same call.
  static unsigned long calls() { return calls_; }

 private:
  static inline thread_local const void* current_ = nullptr;
  static inline thread_local unsigned long calls_ = 0;
  const bool is_outermost_;
};

}  // namespace iwarp::rdma_core
