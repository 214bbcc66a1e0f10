// SPDX-License-Identifier: Apache-2.0
// Epoll: sleeps in epoll_wait(2) until a descriptor is ready, as a server with many descriptors
// does. A stop signal ends the sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  /// Creates an epoll instance for `fd`. The caller owns `fd` and must not close it before this
  /// object is destroyed.
  explicit Epoll(int fd);

  /// Sleeps until an error or one of `events` (EPOLLIN or EPOLLOUT or both) is pending. Returns
  /// false if this does not happen within `limit`. Throws Interrupted on a stop signal.
  bool wait(std::uint32_t events, std::chrono::milliseconds limit);

 private:
  const int fd_;
  const Descriptor epoll_;
  std::uint32_t watched_ = 0;
};

}  // namespace iwarp::apps::measure
