// SPDX-License-Identifier: Apache-2.0
// EventFd: an eventfd(2) that counts like a semaphore.
#pragma once

#include <chrono>
#include <optional>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// The time at which to stop waiting; nullopt means no limit.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;
/// Returns the deadline of a wait that starts now. A negative `timeout` means no
/// limit, as does one of more than a century.
Deadline deadline_after(std::chrono::milliseconds timeout);
/// Returns the time until `deadline` in milliseconds, rounded up, as a timeout for poll(2). Returns
/// -1 if there is no deadline.
int milliseconds_until(Deadline deadline);

/// A counting eventfd. Non-blocking. Thread-safe.
class EventFd {
 public:
  /// Throws std::system_error if no descriptor is available.
  EventFd();
  /// Returns the descriptor, which is readable while the count is not 0. The EventFd owns the
  /// descriptor.
  int fd() const { return fd_.get(); }
  /// Adds 1 to the count.
  void signal();
  /// Subtracts 1 from the count. Returns false if the count is 0.
  bool take();
  /// Blocks until the count is not 0. Returns false if `deadline` has passed. Continues to wait
  /// after signals, and while the kernel is out of memory.
  bool wait(Deadline deadline) const;

 private:
  const UniqueFd fd_;
};

}  // namespace iwarp::net
