// SPDX-License-Identifier: Apache-2.0
// ReservedFd: an eventfd that reserves the descriptor number of an rsocket. As with a socket, the
// child of a fork inherits the descriptor and must close it itself. A net::UniqueFd would be closed
// in the child immediately, and its number could then be reused.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "process/refusal.hpp"

namespace iwarp::rdma_core::rsockets {

class ReservedFd {
 public:
  /// Reserves the lowest free descriptor number. Throws std::system_error if there is none.
  static ReservedFd reserve() {
    const int fd = ::eventfd(0, EFD_CLOEXEC);
    if (fd < 0) fail(errno);
    return ReservedFd(fd);
  }
  ReservedFd() = default;
  ReservedFd(ReservedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ReservedFd& operator=(ReservedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ReservedFd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  explicit ReservedFd(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace iwarp::rdma_core::rsockets
