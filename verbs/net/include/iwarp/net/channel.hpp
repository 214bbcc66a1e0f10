// SPDX-License-Identifier: Apache-2.0
// Channel: a queue of events with a descriptor that is readable while the queue is not empty. An
// application can sleep in poll(2) on that descriptor together with other descriptors.
#pragma once

#include <algorithm>
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
  /// A list that holds one event. push_made() moves the event to the queue without allocating
  /// memory.
  using Made = std::list<T>;

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
  /// Appends an event. Throws std::bad_alloc if memory runs out, unless reserve() has reserved
  /// memory for the event.
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
  /// Moves the event of `made` to the end of the queue. `made` is empty afterwards.
  void push_made(Made& made) noexcept {
    const std::lock_guard lock(mutex_);
    queue_.splice(queue_.end(), made, made.begin());
    tell();
  }
  /// Moves all queued events to the end of `other`.
  void move_to(Channel& other) noexcept {
    Made all;
    {
      const std::lock_guard lock(mutex_);
      for (auto left = queue_.size(); left != 0; --left) forget_one();
      all.swap(queue_);
    }
    while (!all.empty()) other.push_made(all);
  }
  /// Reserves memory for one more event, until unreserve(). Call for each event whose loss could
  /// not be reported to the application. Throws std::bad_alloc if memory runs out.
  void reserve() {
    const std::lock_guard lock(mutex_);
    spare_.emplace_back();
    ++reserved_;
  }
  /// Reverses one reserve().
  void unreserve() noexcept {
    const std::lock_guard lock(mutex_);
    --reserved_;
    if (spare_.size() > reserved_) spare_.pop_front();
  }
  /// Returns the number of queued events for which `counts` returns true.
  template <typename Predicate>
  std::size_t count(Predicate counts) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), counts));
  }
  /// Removes the queued events for which `gone` returns true. Call before the object that these
  /// events refer to is destroyed.
  template <typename Predicate>
  void remove(Predicate gone) {
    const std::lock_guard lock(mutex_);
    const auto before = queue_.size();
    std::erase_if(queue_, gone);
    for (auto i = queue_.size(); i < before; ++i) forget_one();
  }

 protected:
  /// Call when the application's thread is awake and will call leave() before it sleeps. Until
  /// leave() is called, new events do not make the descriptor readable, which saves system calls.
  void attend() {
    const std::lock_guard lock(mutex_);
    attended_ = true;
  }
  /// Does the same as poll(), and makes the descriptor readable for the events that remain.
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
  std::size_t untold_ = 0;  ///< number of queued events that `event_` does not count
  EventFd event_;
};

/// The channel of asynchronous events.
using AsyncChannel = Channel<verbs::AsyncEvent>;

}  // namespace iwarp::net
