// SPDX-License-Identifier: Apache-2.0
// How a thread waits for a Socket: it looks for a moment, and then sleeps.
#pragma once

#include <cerrno>
#include <chrono>

#include "rsockets/common/socket.hpp"

namespace iwarp::rdma_core::rsockets {

/// Answers often come sooner than a thread falls asleep and wakes.
inline constexpr auto kLooking = std::chrono::microseconds(10);

/// Until one of the descriptors is readable, which may be -1, or the deadline. An errno: EINTR when
/// a signal handler wants calls to be interrupted.
int sleep_on(int first, int second, Socket::Deadline deadline);

template <typename Ready>
int Socket::await(Lock& lock, bool nonblocking, Deadline deadline, Ready ready) {
  using Clock = std::chrono::steady_clock;
  progress();
  if (ready()) return 0;
  if (nonblocking) return EAGAIN;
  for (const auto until = Clock::now() + kLooking; fd() >= 0 && Clock::now() < until;) {
    lock.unlock();
    lock.lock();
    if (closed_) return EBADF;
    progress();
    if (ready()) return 0;
  }
  Waiter waiter;
  while (true) {
    arm();
    progress();
    if (ready()) return 0;
    if (deadline && Clock::now() >= *deadline) return EAGAIN;
    const int code = sleep(lock, waiter, deadline);
    if (closed_) return EBADF;
    if (code != 0) return code;
    progress();
    if (ready()) return 0;
  }
}

}  // namespace iwarp::rdma_core::rsockets
