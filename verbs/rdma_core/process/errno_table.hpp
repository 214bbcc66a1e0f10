// SPDX-License-Identifier: Apache-2.0
// Converts the error codes of the layers below (verbs::Errc and others) to errno values. Those
// layers do not use errno. Also ends exceptions, none of which may reach a program in C.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>
#include <type_traits>

#include "process/refusal.hpp"

namespace iwarp::rdma_core {

/// Returns the errno for `error`: 0 if `error` is empty, and EIO if the table has no row for it.
int to_errno(const std::error_code& error);

/// Sets errno to `code` and returns -1.
inline int minus_one(int code) {
  errno = code;
  return -1;
}

/// Calls `function` and returns its result, or 0 if it returns void. If `function` throws an
/// exception, returns the errno for that exception, because no exception may leave the C interface,
/// and logs the reason as refused() does.
template <typename Function>
int guarded(Function function) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
      function();
      return 0;
    } else {
      return function();
    }
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::system_error& error) {
    return refused(error.code());
  } catch (...) {
    return EIO;
  }
}

/// Calls `function` and returns its result. If memory runs out, sets errno to ENOMEM and returns
/// null, false or -1. Unlike guarded(), is not noexcept and catches no other exception, because the
/// C library cancels a thread by unwinding its stack.
template <typename Function>
auto or_no_memory(Function function) {
  using Result = std::invoke_result_t<Function&>;
  try {
    return function();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  if constexpr (std::is_pointer_v<Result> || std::is_same_v<Result, bool>) {
    return Result{};
  } else if constexpr (!std::is_void_v<Result>) {
    return Result{-1};
  }
}

/// Does the same as guarded(). If the result is not 0, also sets errno, and calls
/// explain_failure(). Used in functions of the C interface that return an errno.
template <typename Function>
int guarded_call(Function function) noexcept {
  const int code = guarded(function);
  if (code != 0) {
    explain_failure(code);
    errno = code;
  }
  return code;
}

/// Calls `function` and returns the pointer that it returns. If `function` throws an exception,
/// sets errno, calls explain_failure() and returns null. Used in functions of the C interface that
/// return a pointer to an object.
template <typename Pointer, typename Function>
Pointer* guarded_pointer(Function function) noexcept {
  Pointer* out = nullptr;
  (void)guarded_call([&] { out = function(); });
  return out;
}

/// Returns whether the program has installed a signal handler without SA_RESTART. Call it when
/// poll(2) has failed with EINTR, to decide whether to wait again. With the kernel's channels, a
/// blocking read is resumed after a handler with SA_RESTART. poll(2) fails after every handler and
/// does not report which signal it was, so a caller waits again only if all handlers have
/// SA_RESTART.
bool has_interrupting_handler();

}  // namespace iwarp::rdma_core
