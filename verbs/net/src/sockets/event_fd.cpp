// SPDX-License-Identifier: Apache-2.0
// EventFd: the eventfd(2) of a channel. It counts like a semaphore: each queued event adds 1, so
// the descriptor is readable exactly while the queue is not empty.
#include "iwarp/net/event_fd.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <thread>

namespace iwarp::net {
namespace {

using Milliseconds = std::chrono::milliseconds;

}  // namespace

Deadline deadline_after(Milliseconds timeout) {
  constexpr std::chrono::years kNever{100};  // The clock cannot represent much later times.
  return timeout.count() < 0 || timeout > kNever ? Deadline()
                                                 : std::chrono::steady_clock::now() + timeout;
}

int milliseconds_until(Deadline deadline) {
  if (!deadline) return -1;
  const auto left =
      std::chrono::ceil<Milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<Milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

EventFd::EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void EventFd::signal() {
  const std::uint64_t one = 1;
  // Except for EINTR, the write fails only if the count is at its maximum; the descriptor is
  // readable in that case, so ignore the failure.
  while (::write(fd(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

bool EventFd::take() {
  std::uint64_t count = 0;
  ssize_t n = 0;
  do {
    n = ::read(fd(), &count, sizeof count);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof count);
}

bool EventFd::wait(Deadline deadline) const {
  for (;;) {
    pollfd waiting{.fd = fd(), .events = POLLIN, .revents = 0};
    const int n = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (n > 0) return true;
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return false;
    // Except for EINTR, poll(2) fails only if the kernel is out of memory: try again later.
    if (n < 0 && errno != EINTR) std::this_thread::sleep_for(Milliseconds(1));
  }
}

}  // namespace iwarp::net
