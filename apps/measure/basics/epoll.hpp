// SPDX-License-Identifier: Apache-2.0
// Epoll: sleeps on one descriptor with epoll_wait(2), as a server does that waits for many. A stop
// signal ends the sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  /// The caller owns `fd` and must not close it before this object is destroyed.
  explicit Epoll(int fd);

  /// Sleeps until one of `events` (EPOLLIN, EPOLLOUT; at least one) or an error is pending. Returns
  /// false if that takes longer than `limit`. Throws Interrupted.
  bool wait(std::uint32_t events, std::chrono::milliseconds limit);

 private:
  const int fd_;
  const Descriptor epoll_;
  std::uint32_t watched_ = 0;
};

}  // namespace iwarp::apps::measure
