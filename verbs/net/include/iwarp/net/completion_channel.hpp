// SPDX-License-Identifier: Apache-2.0
// CompletionChannel: an application sleeps on it until a completion queue has a completion (verbs
// draft section 8.2).
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <system_error>

#include "iwarp/net/event_fd.hpp"
#include "iwarp/verbs/completion_queue.hpp"

namespace iwarp::net {

/// A channel of events, each of which names an armed completion queue that has a completion.
/// Thread-safe. The channel must outlive its queues.
///
/// While an application receives events in quick succession, the sockets of its connections wake it
/// directly, through fd() or in wait(), and poll() or wait() drives the connections. That saves the
/// time in which a worker thread would first wake up and then wake the application. When events
/// become rare, the workers drive the connections again.
class CompletionChannel {
 public:
  /// Throws std::system_error if no descriptor is available.
  CompletionChannel();
  ~CompletionChannel();
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  /// Returns a descriptor for poll(2) or epoll(7), which is readable while poll() has an event. The
  /// channel owns it. Setting O_NONBLOCK on it has no effect.
  int fd() const;
  /// Returns the queue of the next event, or nullopt if there is no event. If fd() was readable,
  /// there is an event unless another thread has taken it. The returned queue may turn out to be
  /// empty.
  std::optional<verbs::CompletionQueue*> poll();
  /// Does the same as poll(), but blocks until there is an event or `timeout` has passed. A
  /// negative `timeout` means no limit.
  std::optional<verbs::CompletionQueue*> wait(std::chrono::milliseconds timeout);
  /// Does the same as wait() without a limit, but fails with the error of poll(2), in particular
  /// EINTR after a signal.
  std::expected<verbs::CompletionQueue*, std::error_code> wait_interruptible();

  struct Impl;
  /// Returns the implementation. For the Rnic, which adds the connections that feed the queues.
  Impl& impl() { return *impl_; }

 private:
  std::expected<verbs::CompletionQueue*, std::error_code> await(Deadline deadline);

  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::net
