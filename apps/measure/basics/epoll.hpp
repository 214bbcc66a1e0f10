// SPDX-License-Identifier: Apache-2.0
// Epoll: sleeps in epoll_wait(2) until a descriptor is ready, as a server with many descriptors
// does. A stop signal ends the sleep.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps::measure {

/// A set of descriptors, which the caller owns.
class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  Epoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_.get() < 0) throw Error("epoll_create1: " + errno_text());
    if (stop_fd() >= 0) watch(stop_fd(), EPOLLIN, kStop);
  }

  /// Adds a descriptor, or changes the events (EPOLLIN or EPOLLOUT or both) that make it ready.
  /// wait() returns `index` when it is ready. Closing the descriptor removes it.
  void watch(int fd, std::uint32_t events, std::uint32_t index = 0) const {
    epoll_event event{.events = events, .data = {.u32 = index}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 &&
        (errno != EEXIST || ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)) {
      throw Error("epoll_ctl: " + errno_text());
    }
  }

  /// Sleeps until a descriptor is ready or has an error. Returns the indices of up to 64 such
  /// descriptors, valid until the next call; none if `limit` passes first. Throws Interrupted on a
  /// stop signal.
  std::span<const std::uint32_t> wait(std::chrono::milliseconds limit) {
    int count = 0;
    do {
      count = ::epoll_wait(epoll_.get(), events_.data(), kBatch, static_cast<int>(limit.count()));
    } while (count < 0 && errno == EINTR);
    if (count < 0) throw Error("epoll_wait: " + errno_text());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      ready_[i] = events_[i].data.u32;
      if (ready_[i] == kStop) throw Interrupted();
    }
    return std::span(ready_).first(static_cast<std::size_t>(count));
  }

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr auto kStop = std::numeric_limits<std::uint32_t>::max();  // index of stop_fd()
  const net::UniqueFd epoll_;
  std::array<epoll_event, kBatch> events_{};
  std::array<std::uint32_t, kBatch> ready_{};
};

}  // namespace iwarp::apps::measure
