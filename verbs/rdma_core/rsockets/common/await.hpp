// SPDX-License-Identifier: Apache-2.0
// Implements Socket::await(), in which a thread waits for an event of a Socket. The thread
// busy-polls for a short time and then sleeps.
#pragma once

#include <cerrno>
#include <chrono>

#include "rsockets/common/socket.hpp"

namespace iwarp::rdma_core::rsockets {

/// How long a thread busy-polls before it sleeps. An answer often arrives in less time than a
/// thread needs to fall asleep and wake up.
inline constexpr auto kLooking = std::chrono::microseconds(10);

/// Sleeps until one of the descriptors `first` and `second` is readable, or the deadline passes. A
/// descriptor may be -1, which means that there is none. Returns 0 or an errno. The errno is EINTR
/// if a signal arrived and the program has a signal handler without SA_RESTART.
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
  net::EventFd waiter;
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
