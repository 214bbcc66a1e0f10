// SPDX-License-Identifier: Apache-2.0
// Epoll: a program's own sleep on one descriptor, with epoll_wait(2), as servers sleep that wait
// for many. Stop signals end it, too.
#pragma once

#include <chrono>
#include <cstdint>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  /// `fd` stays the caller's, and is not closed before this.
  explicit Epoll(int fd);

  /// Sleeps until one of `events` (EPOLLIN, EPOLLOUT, not none) or an error is there. False: not
  /// within `limit`. Interrupted.
  bool wait(std::uint32_t events, std::chrono::milliseconds limit);

 private:
  const int fd_;
  const Descriptor epoll_;
  std::uint32_t watched_ = 0;
};

}  // namespace iwarp::apps::measure
