// SPDX-License-Identifier: Apache-2.0
// Epoll: sleeps until one descriptor is ready with epoll_wait(2), as a server does that waits for
// many descriptors. A stop signal ends the sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  /// Waits for `fd`, which the caller owns and must not close before this object is destroyed.
  explicit Epoll(int fd);

  /// Sleeps until one of `events` (EPOLLIN, EPOLLOUT; at least one) or an error is pending. Returns
  /// false if none is pending within `limit`. Throws Interrupted on a stop signal.
  bool wait(std::uint32_t events, std::chrono::milliseconds limit);

 private:
  const int fd_;
  const Descriptor epoll_;
  std::uint32_t watched_ = 0;
};

}  // namespace iwarp::apps::measure
