// SPDX-License-Identifier: Apache-2.0
// Waiter: an eventfd on which a thread sleeps, and to which other threads write to wake it up. Make
// a new Waiter for each wait. If the descriptor existed longer, the child of a fork would share it
// with its parent.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace iwarp::rdma_core::rsockets {

class Waiter {
 public:
  /// Throws std::system_error if no descriptor is free.
  Waiter() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Waiter() { ::close(fd_); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  int fd() const { return fd_; }
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(fd_, &one, sizeof one);
  }
  void reset() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(fd_, &count, sizeof count);
  }

 private:
  const int fd_;
};

}  // namespace iwarp::rdma_core::rsockets
