// SPDX-License-Identifier: Apache-2.0
// EpollFd: an epoll(7) descriptor. Level-triggered; it reports a pointer for each ready descriptor.
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

class EpollFd {
 public:
  /// Throws std::system_error if no descriptor is available.
  EpollFd() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }

  int get() const { return fd_.get(); }
  /// Returns false if the kernel refuses the descriptor.
  bool add(int fd, std::uint32_t events, void* reported) const {
    return control(EPOLL_CTL_ADD, fd, events, reported);
  }
  void change(int fd, std::uint32_t events, void* reported) const {
    control(EPOLL_CTL_MOD, fd, events, reported);
  }
  void remove(int fd) const { control(EPOLL_CTL_DEL, fd, 0, nullptr); }

 private:
  bool control(int operation, int fd, std::uint32_t events, void* reported) const {
    epoll_event event{.events = events, .data = {.ptr = reported}};
    return ::epoll_ctl(get(), operation, fd, &event) == 0;
  }

  const UniqueFd fd_;
};

}  // namespace iwarp::net
