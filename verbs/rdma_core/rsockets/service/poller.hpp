// SPDX-License-Identifier: Apache-2.0
// Poller: what repoll_create() makes. Holds the descriptors that repoll_wait() polls: rsockets and
// others. Reports events as long as they last, also with EPOLLET.
#pragma once

#include <sys/epoll.h>

#include <expected>
#include <mutex>
#include <span>
#include <vector>

#include "iwarp/net/event_fd.hpp"
#include "rsockets/common/socket.hpp"

namespace iwarp::rdma_core::rsockets {

class Poller {
 public:
  explicit Poller(ReservedFd number) : number_(std::move(number)) {}

  /// Does the same as epoll_ctl(2). Returns 0 or an errno. Thread-safe, also while other threads
  /// wait.
  int change(int operation, int fd, const epoll_event* event);
  /// Does the same as epoll_wait(2). Returns the number of events in `out`, or an errno: EBADF if
  /// another thread has closed the poller. Thread-safe.
  std::expected<int, int> wait(std::span<epoll_event> out, int timeout);
  /// Closes the descriptor and wakes up the waiting threads.
  void close();

 private:
  struct Watched {
    int fd;
    epoll_event wanted;
    bool disabled;  ///< reported once, as EPOLLONESHOT demands
  };
  /// Changes `watched_`. Returns 0 or an errno. Call with the mutex locked.
  int update(int operation, int fd, const epoll_event* event);
  /// Stores the events that rpoll() has found. `polled` has an entry for each element of
  /// `watched_`. Forgets closed descriptors, as the kernel does. Call with the mutex locked.
  int collect(std::span<const pollfd> polled, std::span<epoll_event> out);
  void wake();

  std::mutex mutex_;
  ReservedFd number_;
  std::vector<Watched> watched_;
  std::vector<net::EventFd*> waiters_;
  bool closed_ = false;
};

}  // namespace iwarp::rdma_core::rsockets
