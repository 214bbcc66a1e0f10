// SPDX-License-Identifier: Apache-2.0
// Waits with epoll for two descriptors: the caller's descriptor, and the descriptor that becomes
// readable on a stop signal.
#include "measure/basics/epoll.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <span>

#include "common/base/error.hpp"
#include "common/base/stop.hpp"

namespace iwarp::apps::measure {

namespace {

void control(int epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) throw Error("epoll_ctl: " + errno_text());
}

}  // namespace

Epoll::Epoll(int fd) : fd_(fd), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.get() < 0) throw Error("epoll_create1: " + errno_text());
  control(epoll_.get(), EPOLL_CTL_ADD, fd_, watched_);
  if (stop_fd() >= 0) control(epoll_.get(), EPOLL_CTL_ADD, stop_fd(), EPOLLIN);
}

bool Epoll::wait(std::uint32_t events, std::chrono::milliseconds limit) {
  if (events != watched_) {
    control(epoll_.get(), EPOLL_CTL_MOD, fd_, events);
    watched_ = events;
  }
  std::array<epoll_event, 2> ready{};
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), ready.data(), ready.size(), static_cast<int>(limit.count()));
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw Error("epoll_wait: " + errno_text());
  for (const auto& event : std::span(ready).first(static_cast<std::size_t>(count))) {
    if (event.data.fd != fd_) throw Interrupted();
  }
  return count > 0;
}

}  // namespace iwarp::apps::measure
