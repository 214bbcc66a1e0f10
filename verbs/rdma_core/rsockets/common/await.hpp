// SPDX-License-Identifier: Apache-2.0
// Socket::await(): makes a thread wait for an event of a Socket. The thread busy-polls for a moment
// and then sleeps.
#pragma once

#include <cerrno>
#include <chrono>

#include "rsockets/common/socket.hpp"

namespace iwarp::rdma_core::rsockets {

/// How long to busy-poll. An answer often arrives in less time than a thread needs to fall asleep
/// and wake up.
inline constexpr auto kLooking = std::chrono::microseconds(10);

/// Sleeps until one of the descriptors is readable or the deadline passes. -1 stands for no
/// descriptor. Returns 0, EINTR if a signal arrived and the program has a handler without
/// SA_RESTART, or another errno.
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
