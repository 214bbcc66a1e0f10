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

#include "sockets/descriptors.hpp"

namespace iwarp::net {

EventFd::EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  remember(fd_);
}

EventFd::~EventFd() {
  if (forget(fd_)) ::close(fd_);
}

void EventFd::signal() {
  const std::uint64_t one = 1;
  // Except for EINTR, the write fails only if the count is at its maximum; the descriptor is
  // readable in that case, so ignore the failure.
  while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

bool EventFd::take() {
  std::uint64_t count = 0;
  ssize_t n = 0;
  do {
    n = ::read(fd_, &count, sizeof count);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof count);
}

bool EventFd::wait(std::chrono::milliseconds timeout) const {
  using std::chrono::steady_clock;
  const bool forever = timeout.count() < 0;
  const auto begin = steady_clock::now();
  for (;;) {
    std::chrono::milliseconds left{-1};
    if (!forever) {
      left = timeout - std::chrono::floor<std::chrono::milliseconds>(steady_clock::now() - begin);
      left = std::clamp(left, std::chrono::milliseconds(0),
                        std::chrono::milliseconds(std::numeric_limits<int>::max()));
    }
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    const int n = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (n > 0) return true;
    if (!forever && steady_clock::now() - begin >= timeout) return false;
    // Except for EINTR, poll(2) fails only if the kernel is out of memory: try again later.
    if (n < 0 && errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace iwarp::net
