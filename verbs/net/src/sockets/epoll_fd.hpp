// SPDX-License-Identifier: Apache-2.0
// An epoll(7) descriptor of our own. Level-triggered; what it reports is a pointer.
#pragma once

#include <cstdint>

namespace iwarp::net {

class EpollFd {
 public:
  /// Throws std::system_error when there is no descriptor to be had.
  EpollFd();
  ~EpollFd();
  EpollFd(const EpollFd&) = delete;
  EpollFd& operator=(const EpollFd&) = delete;

  int get() const { return fd_; }
  /// False: the kernel does not take it.
  bool add(int fd, std::uint32_t events, void* reported) const;
  void change(int fd, std::uint32_t events, void* reported) const;
  void remove(int fd) const;

 private:
  const int fd_;
};

}  // namespace iwarp::net
