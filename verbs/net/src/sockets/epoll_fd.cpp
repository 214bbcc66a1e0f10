// SPDX-License-Identifier: Apache-2.0
#include "sockets/epoll_fd.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <system_error>

namespace iwarp::net {

EpollFd::EpollFd() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!fd_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

bool EpollFd::add(int fd, std::uint32_t events, void* reported) const {
  epoll_event event{.events = events, .data = {.ptr = reported}};
  return ::epoll_ctl(get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EpollFd::change(int fd, std::uint32_t events, void* reported) const {
  epoll_event event{.events = events, .data = {.ptr = reported}};
  ::epoll_ctl(get(), EPOLL_CTL_MOD, fd, &event);
}

void EpollFd::remove(int fd) const { ::epoll_ctl(get(), EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace iwarp::net
