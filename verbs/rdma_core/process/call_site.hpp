// SPDX-License-Identifier: Apache-2.0
// CallSite: records from which address the program called the C interface, so that hooks can report
// the place. A CallSite only stores this address. The stack is unwound only if a report also needs
// the callers of the function that made the call.
#pragma once

namespace iwarp::rdma_core {

/// Declare a CallSite at the beginning of a function of the C interface: `const CallSite
/// here(__builtin_return_address(0))`. If a function of the C interface calls another such
/// function, only the outer call is recorded.
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

  /// If this thread is executing a call of the C interface, returns the return address of that
  /// call. Otherwise returns null.
  static const void* current() { return current_; }
  /// Returns how many calls of the C interface this thread has completed. If two results are equal,
  /// no call has ended between them.
  static unsigned long calls() { return calls_; }

 private:
  static inline thread_local const void* current_ = nullptr;
  static inline thread_local unsigned long calls_ = 0;
  const bool is_outermost_;
};

}  // namespace iwarp::rdma_core
