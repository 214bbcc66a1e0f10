// SPDX-License-Identifier: Apache-2.0
// CallSite: where the program called the C interface, for hooks that report the place. It costs one
// store per call; the stack is unwound only if a report also needs the callers.
#pragma once

namespace iwarp::rdma_core {

/// Declare it first in a function of the C interface: `const CallSite
/// here(__builtin_return_address(0))`. Calls between functions of the library are not recorded.
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

  /// Returns the return address of the call that this thread is in, or null if it is in none.
  static const void* current() { return current_; }
  /// Returns how many calls of this thread have ended. The same number means the same call.
  static unsigned long calls() { return calls_; }

 private:
  static inline thread_local const void* current_ = nullptr;
  static inline thread_local unsigned long calls_ = 0;
  const bool is_outermost_;
};

}  // namespace iwarp::rdma_core
