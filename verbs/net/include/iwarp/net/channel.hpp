// SPDX-License-Identifier: Apache-2.0
// Channel: a queue of events with a descriptor that is readable while the queue is not empty. An
// application can sleep in poll(2) on that descriptor together with other descriptors. The device
// fills and empties the queue through ChannelPort, an internal header.
#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <optional>

#include "iwarp/net/event_fd.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::net {

/// A queue of T that can be waited on. Thread-safe.
template <typename T>
class Channel {
 public:
  /// Returns the descriptor, which is readable while events are queued. The channel owns it.
  int fd() const { return event_.fd(); }

  /// Removes the oldest event and returns it, or nullopt if there is no event. Does not block.
  std::optional<T> poll() {
    const std::lock_guard lock(mutex_);
    return take();
  }
  /// Does the same as poll(), but blocks until there is an event or `timeout` has passed. A
  /// negative `timeout` means no limit. Signals do not interrupt it.
  std::optional<T> wait(std::chrono::milliseconds timeout) {
    const auto deadline = deadline_after(timeout);
    for (;;) {
      if (auto out = poll()) return out;
      if (!event_.wait(deadline)) return poll();
    }
  }

 private:
  friend struct ChannelPort;

  void tell() {
    if (attended_) {
      ++unsignaled_;
    } else {
      event_.signal();
    }
  }
  std::optional<T> take() {
    if (queue_.empty()) return std::nullopt;
    forget_one();
    std::optional<T> out(std::move(queue_.front()));
    if (spare_.size() < reserved_) {
      spare_.splice(spare_.end(), queue_, queue_.begin());
    } else {
      queue_.pop_front();
    }
    return out;
  }
  void forget_one() {
    if (unsignaled_ != 0) {
      --unsignaled_;
    } else {
      event_.take();
    }
  }

  std::mutex mutex_;
  std::list<T> queue_;
  std::list<T> spare_;
  std::size_t reserved_ = 0;
  bool attended_ = false;
  std::size_t unsignaled_ = 0;  ///< number of queued events that `event_` does not count
  EventFd event_;
};

/// The channel of asynchronous events.
using AsyncChannel = Channel<verbs::AsyncEvent>;

}  // namespace iwarp::net
