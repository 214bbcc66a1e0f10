// SPDX-License-Identifier: Apache-2.0
// CallSite: records which function of the C interface the program called, and from which address,
// so that hooks and the log can report the place. A CallSite only stores this address. The stack is
// unwound only if a report also needs the callers of the function that made the call.
#pragma once

namespace iwarp::rdma_core {

/// Declare a CallSite at the beginning of a function of the C interface: `const CallSite
/// here(__builtin_return_address(0), "ibv_modify_qp")`. If a function of the C interface calls
/// another such function, only the outer call is recorded.
class CallSite {
 public:
  /// `call` is the name of the function, a string literal. If it is null, the log does not say why
  /// the call fails, because programs make calls of this function that fail on purpose.
  explicit CallSite(const void* return_address, const char* call = nullptr)
      : is_outermost_(current_ == nullptr) {
    if (!is_outermost_) return;
    current_ = return_address;
    call_ = call;
    is_explained_ = false;
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
  /// Returns the name of the call that this thread is executing. Returns null if there is none, or
  /// if the log does not say why this call fails.
  static const char* call() { return current_ != nullptr ? call_ : nullptr; }
  /// explain() records that the log says why the current call fails, or that it must not, because
  /// the program probes the device. is_explained() returns whether explain() was called.
  static void explain() { is_explained_ = true; }
  static bool is_explained() { return is_explained_; }
  /// Returns how many calls of the C interface this thread has completed. If two results are equal,
  /// no call has ended between them.
  static unsigned long calls() { return calls_; }

 private:
  static inline thread_local const void* current_ = nullptr;
  static inline thread_local const char* call_ = nullptr;
  static inline thread_local bool is_explained_ = false;
  static inline thread_local unsigned long calls_ = 0;
  const bool is_outermost_;
};

}  // namespace iwarp::rdma_core
