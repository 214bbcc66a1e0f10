// SPDX-License-Identifier: Apache-2.0
// EpollFd: an epoll(7) descriptor. Level-triggered; it reports a pointer for each ready descriptor.
#pragma once

#include <cstdint>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

class EpollFd {
 public:
  /// Throws std::system_error if no descriptor is available.
  EpollFd();

  int get() const { return fd_.get(); }
  /// Returns false if the kernel refuses the descriptor.
  bool add(int fd, std::uint32_t events, void* reported) const;
  void change(int fd, std::uint32_t events, void* reported) const;
  void remove(int fd) const;

 private:
  const UniqueFd fd_;
};

}  // namespace iwarp::net
