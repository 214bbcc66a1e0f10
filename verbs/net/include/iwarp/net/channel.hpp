// SPDX-License-Identifier: Apache-2.0
// Channels: bounded queues of events behind a descriptor that becomes readable (eventfd), so that
// a program may sleep in poll(2) on it next to its own descriptors.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>

#include "iwarp/verbs/types.hpp"

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
  /// Waits until readable. False: `timeout` passed. Negative: no limit. Restarts after signals.
  bool wait(std::chrono::milliseconds timeout) const;

 private:
  int fd_;
};

/// A queue of T that can be waited on. Thread safe.
template <typename T>
class Channel {
 public:
  /// Readable while events are queued.
  int fd() const { return event_.fd(); }

  std::optional<T> poll() {
    const std::lock_guard lock(mutex_);
    return take();
  }
  /// The next event; nullopt: `timeout` passed. Negative: no limit.
  std::optional<T> wait(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      if (auto out = poll()) return out;
      const auto left = timeout.count() < 0 ? timeout
                                            : std::chrono::duration_cast<std::chrono::milliseconds>(
                                                  end - std::chrono::steady_clock::now());
      if (timeout.count() >= 0 && left.count() <= 0) return std::nullopt;
      if (!event_.wait(left)) return poll();
    }
  }
  void push(T value) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(value));
    if (attended_) {
      ++untold_;
    } else {
      event_.signal();
    }
  }
  /// Removes what `gone` says yes to: the object it is about is going away.
  template <typename Predicate>
  void remove(Predicate gone) {
    const std::lock_guard lock(mutex_);
    const auto before = queue_.size();
    std::erase_if(queue_, gone);
    for (auto i = queue_.size(); i < before; ++i) forget_one();
  }

 protected:
  /// The consumer is awake and will leave() before it sleeps: until then the descriptor need not
  /// say what is queued.
  void attend() {
    const std::lock_guard lock(mutex_);
    attended_ = true;
  }
  /// The next event; what is queued behind it the descriptor tells again.
  std::optional<T> leave() {
    const std::lock_guard lock(mutex_);
    attended_ = false;
    auto out = take();
    for (; untold_ != 0; --untold_) event_.signal();
    return out;
  }

 private:
  std::optional<T> take() {
    if (queue_.empty()) return std::nullopt;
    forget_one();
    std::optional<T> out(std::move(queue_.front()));
    queue_.pop_front();
    return out;
  }
  void forget_one() {
    if (untold_ != 0) {
      --untold_;
    } else {
      event_.take();
    }
  }

  std::mutex mutex_;
  std::deque<T> queue_;
  bool attended_ = false;
  std::size_t untold_ = 0;  ///< queued events that the descriptor does not count
  EventFd event_;
};

using AsyncChannel = Channel<verbs::AsyncEvent>;

}  // namespace iwarp::net
