// SPDX-License-Identifier: Apache-2.0
// Waits with epoll for the caller's descriptors, and for the descriptor that becomes readable on a
// stop signal.
#include "measure/basics/epoll.hpp"

#include <cerrno>
#include <limits>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps::measure {

namespace {

constexpr auto kStop = std::numeric_limits<std::uint32_t>::max();  // index of stop_fd()

}  // namespace

Epoll::Epoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.get() < 0) throw Error("epoll_create1: " + errno_text());
  if (stop_fd() >= 0) watch(stop_fd(), EPOLLIN, kStop);
}

void Epoll::watch(int fd, std::uint32_t events, std::uint32_t index) const {
  epoll_event event{.events = events, .data = {.u32 = index}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 &&
      (errno != EEXIST || ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)) {
    throw Error("epoll_ctl: " + errno_text());
  }
}

std::span<const std::uint32_t> Epoll::wait(std::chrono::milliseconds limit) {
  int count = 0;
  do {
    count = ::epoll_wait(epoll_.get(), events_.data(), kBatch, static_cast<int>(limit.count()));
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw Error("epoll_wait: " + errno_text());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (events_[i].data.u32 == kStop) throw Interrupted();
    ready_[i] = events_[i].data.u32;
  }
  return std::span(ready_).first(static_cast<std::size_t>(count));
}

}  // namespace iwarp::apps::measure
