// SPDX-License-Identifier: Apache-2.0
// EventFd: an eventfd(2) that counts, as a semaphore.
#pragma once

#include <chrono>

namespace iwarp::net {

/// A counting eventfd. Non-blocking.
class EventFd {
 public:
  EventFd();
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  int fd() const { return fd_; }
  void signal();
  /// Takes one count; false: there was none.
  bool take();
  /// Waits until readable. False: `timeout` passed. Negative: no limit. Restarts after signals, and
  /// where the kernel has no memory for now.
  bool wait(std::chrono::milliseconds timeout) const;

 private:
  int fd_;
};

}  // namespace iwarp::net
