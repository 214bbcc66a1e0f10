// SPDX-License-Identifier: Apache-2.0
// EpollSet, Epoll: sleep in epoll_wait(2) until a descriptor is ready, as a server with many
// descriptors does. A stop signal ends the sleep.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "measure/basics/socket.hpp"

namespace iwarp::apps::measure {

/// Descriptors, each with the events (EPOLLIN or EPOLLOUT or both) that make it ready. The caller
/// owns the descriptors and must not close them before the set is destroyed.
class EpollSet {
 public:
  EpollSet();
  /// Adds a descriptor. wait() returns `index` when it is ready.
  void add(int fd, std::uint32_t events, std::uint32_t index);
  void change(int fd, std::uint32_t events, std::uint32_t index);
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

/// A set of one descriptor, whose events differ from wait to wait.
class Epoll {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  explicit Epoll(int fd) : fd_(fd) { set_.add(fd, watched_, 0); }

  /// Sleeps until an error or one of `events` is pending. Returns false if this does not happen
  /// within `limit`. Throws Interrupted on a stop signal.
  bool wait(std::uint32_t events, std::chrono::milliseconds limit);

 private:
  const int fd_;
  EpollSet set_;
  std::uint32_t watched_ = 0;
};

}  // namespace iwarp::apps::measure
