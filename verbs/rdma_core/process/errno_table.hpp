// SPDX-License-Identifier: Apache-2.0
// Converts the errors of the verbs interface to errno. This is the only layer that knows errno.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>

namespace iwarp::rdma_core {

/// Returns the errno of `error`: 0 if there is no error, EIO if it has no errno of its own.
int to_errno(const std::error_code& error);

/// Sets errno to `code` and returns -1.
inline int minus_one(int code) {
  errno = code;
  return -1;
}

/// Calls `function` and returns its result, or the errno of the exception that it throws. No
/// exception may pass the C interface.
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

/// Like guarded(), for functions that return an errno. Also sets errno, as a system call does.
template <typename Function>
int guarded_call(Function function) noexcept {
  const int code = guarded(function);
  if (code != 0) errno = code;
  return code;
}

/// Like guarded(), for functions that return an object. If `function` throws, sets errno and
/// returns null.
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
