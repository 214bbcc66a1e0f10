// SPDX-License-Identifier: Apache-2.0
// Channels: bounded queues of events behind a descriptor that becomes readable (eventfd), so that
// a program may sleep in poll(2) on it next to its own descriptors.
#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>

#include "iwarp/net/event_fd.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::net {

/// A queue of T that can be waited on. Thread safe.
template <typename T>
class Channel {
 public:
  /// One event, with the memory to queue it.
  using Made = std::list<T>;

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
    if (spare_.empty()) {
      queue_.push_back(std::move(value));
    } else {
      spare_.front() = std::move(value);
      queue_.splice(queue_.end(), spare_, spare_.begin());
    }
    tell();
  }
  /// As push(), and does not fail.
  void push_made(Made& made) noexcept {
    const std::lock_guard lock(mutex_);
    queue_.splice(queue_.end(), made, made.begin());
    tell();
  }
  /// All that is queued is queued there.
  void move_to(Channel& other) noexcept {
    Made all;
    {
      const std::lock_guard lock(mutex_);
      for (auto left = queue_.size(); left != 0; --left) forget_one();
      all.swap(queue_);
    }
    while (!all.empty()) other.push_made(all);
  }
  /// Until unreserve() one event more can be queued without memory, of which nobody could be told.
  void reserve() {
    const std::lock_guard lock(mutex_);
    spare_.emplace_back();
    ++reserved_;
  }
  void unreserve() noexcept {
    const std::lock_guard lock(mutex_);
    --reserved_;
    if (spare_.size() > reserved_) spare_.pop_front();
  }
  /// Queued events for which `counts` says yes.
  template <typename Predicate>
  std::size_t count(Predicate counts) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), counts));
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
  void tell() {
    if (attended_) {
      ++untold_;
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
    if (untold_ != 0) {
      --untold_;
    } else {
      event_.take();
    }
  }

  std::mutex mutex_;
  std::list<T> queue_;
  std::list<T> spare_;
  std::size_t reserved_ = 0;
  bool attended_ = false;
  std::size_t untold_ = 0;  ///< queued events that the descriptor does not count
  EventFd event_;
};

using AsyncChannel = Channel<verbs::AsyncEvent>;

}  // namespace iwarp::net
