// SPDX-License-Identifier: Apache-2.0
// From the errors of the verbs interface to errno. This is the only layer that knows errno.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>

namespace iwarp::rdma_core {

/// 0 for no error.
int to_errno(const std::error_code& error);

/// errno is `code`; the result for functions that return -1.
inline int minus_one(int code) {
  errno = code;
  return -1;
}

/// What a function does behind the C interface, where no exception may pass: its result, or the
/// errno of what was thrown.
template <typename Function>
int guarded(Function function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::system_error& error) {
    return to_errno(error.code());
  } catch (...) {
    return EIO;
  }
}

/// The same for functions that return an errno: errno says it as well, as after a system call.
template <typename Function>
int guarded_call(Function function) noexcept {
  const int code = guarded(function);
  if (code != 0) errno = code;
  return code;
}

/// The same for functions that return an object: null with errno set.
template <typename Pointer, typename Function>
Pointer* guarded_pointer(Function function) noexcept {
  Pointer* out = nullptr;
  const int code = guarded([&] {
    out = function();
    return 0;
  });
  if (code != 0) errno = code;
  return out;
}

}  // namespace iwarp::rdma_core
