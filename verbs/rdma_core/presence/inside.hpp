// SPDX-License-Identifier: Apache-2.0
// Inside: marks a thread while the library itself opens or examines files in this thread. While a
// thread is marked, the replaced functions pass its calls to the C library unchanged.
// or_no_memory(): ends exceptions, which must not reach a program in C.
#pragma once

#include <cerrno>
#include <new>
#include <type_traits>

namespace iwarp::rdma_core::presence {

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

/// Calls `function`, which implements a function of the C library, and returns its result. If
/// memory runs out, sets errno to ENOMEM and returns null or -1. Is not noexcept and catches no
/// other exception, because the C library cancels a thread by unwinding its stack.
template <typename Function>
auto or_no_memory(Function function) {
  using Result = std::invoke_result_t<Function&>;
  try {
    return function();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  if constexpr (std::is_pointer_v<Result>) {
    return Result{nullptr};
  } else if constexpr (!std::is_void_v<Result>) {
    return Result{-1};
  }
}

}  // namespace iwarp::rdma_core::presence
