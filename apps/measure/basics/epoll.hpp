// SPDX-License-Identifier: Apache-2.0
// Epoll: sleeps in epoll_wait(2) until a descriptor is ready, as a server with many descriptors
// does. A stop signal ends the sleep.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps::measure {

/// A set of descriptors, which the caller owns.
class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  Epoll();
  /// Adds a descriptor, or changes the events (EPOLLIN or EPOLLOUT or both) that make it ready.
  /// wait() returns `index` when it is ready. Closing the descriptor removes it.
  void watch(int fd, std::uint32_t events, std::uint32_t index = 0) const;
  /// Sleeps until a descriptor is ready or has an error. Returns the indices of up to 64 such
  /// descriptors, valid until the next call; none if `limit` passes first. Throws Interrupted on a
  /// stop signal.
  std::span<const std::uint32_t> wait(std::chrono::milliseconds limit);

 private:
  static constexpr std::size_t kBatch = 64;
  const net::UniqueFd epoll_;
  std::array<epoll_event, kBatch> events_{};
  std::array<std::uint32_t, kBatch> ready_{};
};

}  // namespace iwarp::apps::measure
