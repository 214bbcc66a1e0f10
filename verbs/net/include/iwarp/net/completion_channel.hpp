// SPDX-License-Identifier: Apache-2.0
// CompletionChannel: where a program sleeps until a completion queue has something (verbs draft
// section 8.2).
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <system_error>

#include "iwarp/net/channel.hpp"
#include "iwarp/verbs/completion_queue.hpp"

namespace iwarp::net {

class CqFeed;

/// Completion channel: which armed completion queue has something. Outlives its queues.
///
/// A consumer that takes events again and again, each soon after the one before, is woken by the
/// sockets of its connections, through fd() or in wait(), and does their work in poll() or wait():
/// no thread has to be woken first that then wakes the consumer. When the events become rare the
/// workers take over.
class CompletionChannel : public Channel<verbs::CompletionQueue*> {
 public:
  /// Throws std::system_error when there is no descriptor to be had.
  CompletionChannel();
  ~CompletionChannel();

  /// Readable while poll() has an event. May be used in poll(2), in epoll(7), and
  /// be made non-blocking, which changes nothing here.
  int fd() const;
  /// The next event. After fd() was readable there is one, unless another thread has taken it; its
  /// queue may be empty.
  std::optional<verbs::CompletionQueue*> poll();
  /// As Channel::wait().
  std::optional<verbs::CompletionQueue*> wait(std::chrono::milliseconds timeout);
  /// Without limit. An error: what poll(2) said, EINTR among others.
  std::expected<verbs::CompletionQueue*, std::error_code> wait_interruptible();

  // For the Rnic: what feeds the queues of this channel.
  void add(std::shared_ptr<CqFeed> feed);
  void remove_feed(const CqFeed* feed);

 private:
  struct Sleeper;

  std::optional<verbs::CompletionQueue*> look();
  std::expected<verbs::CompletionQueue*, std::error_code> await(
      std::optional<std::chrono::steady_clock::time_point> end);

  std::unique_ptr<Sleeper> sleeper_;
};

}  // namespace iwarp::net
