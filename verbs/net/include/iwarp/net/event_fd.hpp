// SPDX-License-Identifier: Apache-2.0
// EventFd: an eventfd(2) that counts like a semaphore.
#pragma once

#include <chrono>

namespace iwarp::net {

/// A counting eventfd. Non-blocking. Thread-safe.
class EventFd {
 public:
  /// Throws std::system_error if no descriptor is available.
  EventFd();
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  /// Returns the descriptor, which is readable while the count is not 0. The EventFd owns the
  /// descriptor.
  int fd() const { return fd_; }
  /// Adds 1 to the count.
  void signal();
  /// Subtracts 1 from the count. Returns false if the count is 0.
  bool take();
  /// Blocks until the count is not 0. Returns false if `timeout` has passed; a negative `timeout`
  /// means no limit. Continues to wait after signals, and while the kernel is out of memory.
  bool wait(std::chrono::milliseconds timeout) const;

 private:
  int fd_;
};

}  // namespace iwarp::net
