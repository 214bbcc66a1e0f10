// SPDX-License-Identifier: Apache-2.0
// EpollFd: an epoll(7) descriptor. Level-triggered; it reports a pointer for each ready descriptor.
#pragma once

#include <cstdint>

namespace iwarp::net {

class EpollFd {
 public:
  /// Throws std::system_error if no descriptor is available.
  EpollFd();
  ~EpollFd();
  EpollFd(const EpollFd&) = delete;
  EpollFd& operator=(const EpollFd&) = delete;

  int get() const { return fd_; }
  /// Returns false if the kernel refuses the descriptor.
  bool add(int fd, std::uint32_t events, void* reported) const;
  void change(int fd, std::uint32_t events, void* reported) const;
  void remove(int fd) const;

 private:
  const int fd_;
};

}  // namespace iwarp::net
