// SPDX-License-Identifier: Apache-2.0
// The error of a call that reports it with errno.
#pragma once

#include <sys/types.h>

#include <cerrno>

namespace rdma_core_test {

/// Returns the errno of a call that returned -1, or 0 if the call succeeded.
inline int error_of(ssize_t result) { return result == -1 ? errno : 0; }
/// Returns the errno of a call that returned a null pointer, or 0 if the call succeeded.
inline int error_of(const void* result) { return result == nullptr ? errno : 0; }

}  // namespace rdma_core_test
