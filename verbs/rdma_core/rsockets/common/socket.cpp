// SPDX-License-Identifier: Apache-2.0
// Functions of class Socket, mainly those in which threads wait.
#include "rsockets/common/socket.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "process/polling.hpp"

namespace iwarp::rdma_core::rsockets {

void Socket::wake() {
  for (net::EventFd* const waiter : waiters_) waiter->signal();
}

Socket::Deadline Socket::deadline(std::chrono::microseconds limit) {
  if (limit.count() == 0) return std::nullopt;
  return std::chrono::steady_clock::now() + limit;
}

bool Socket::is_nonblocking(int flags) const {
  return (options_.status_flags & O_NONBLOCK) != 0 || (flags & MSG_DONTWAIT) != 0;
}

int Socket::sleep(Lock& lock, net::EventFd& waiter, Deadline deadline) {
  waiters_.push_back(&waiter);
  std::array<pollfd, 2> waiting{pollfd{.fd = waiter.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = fd(), .events = POLLIN, .revents = 0}};
  lock.unlock();
  const int timeout = poll_timeout(deadline.value_or(Time::max()));
  const int code = ::poll(waiting.data(), waiting.size(), timeout) < 0 ? errno : 0;
  end_waiting(waiter);
  lock.lock();
  while (waiter.take()) {
  }
  return code == EINTR && !has_interrupting_handler() ? 0 : code;
}

short Socket::events(short wanted) {
  const Lock lock(mutex_);
  if (closed_) return POLLNVAL;
  progress();
  return state(wanted);
}

std::optional<int> Socket::begin_waiting(net::EventFd& waiter, short wanted) {
  const Lock lock(mutex_);
  if (closed_) return std::nullopt;
  arm();
  progress();
  if (state(wanted) != 0) return std::nullopt;
  waiters_.push_back(&waiter);
  return fd();
}

void Socket::end_waiting(net::EventFd& waiter) {
  const Lock lock(mutex_);
  std::erase(waiters_, &waiter);
  // If this thread has consumed an event, the completion queue is no longer armed. In that case,
  // wakes up the other waiting threads, which must arm the queue again.
  if (!closed_ && take_events()) wake();
}

// [RCM-369]
std::expected<int, int> Socket::control(int command, int argument) {
  const Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  switch (command) {
    case F_GETFL:
      return options_.status_flags;
    case F_SETFL:
      options_.status_flags = argument;
      return 0;
    case F_GETFD:
      return options_.descriptor_flags;
    case F_SETFD:
      options_.descriptor_flags = argument;
      return 0;
    default:
      return std::unexpected(ENOTSUP);
  }
}

}  // namespace iwarp::rdma_core::rsockets
