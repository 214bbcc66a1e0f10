// SPDX-License-Identifier: Apache-2.0
// Functions for calls that wait with poll(2).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace iwarp::rdma_core {

/// Returns the time from now until `end` as a timeout for poll(2): in milliseconds, rounded up. For
/// time_point::max(), returns -1, with which poll(2) waits without limit.
inline int poll_timeout(std::chrono::steady_clock::time_point end) {
  using Clock = std::chrono::steady_clock;
  if (end == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(
      std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

/// Returns whether the program has installed a signal handler without SA_RESTART. Call it when
/// poll(2) has failed with EINTR, to decide whether to wait again. With the kernel's channels, a
/// blocking read is resumed after a handler with SA_RESTART. poll(2) fails after every handler and
/// does not report which signal it was, so a caller waits again only if all handlers have
/// SA_RESTART.
bool has_interrupting_handler();

}  // namespace iwarp::rdma_core
