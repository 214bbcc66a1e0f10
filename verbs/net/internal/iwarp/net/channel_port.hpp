// SPDX-License-Identifier: Apache-2.0
// ChannelPort: the functions of a channel for the device, whose events the channel holds.
#pragma once

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "iwarp/net/channel.hpp"

namespace iwarp::net {

/// A list that holds one event. ChannelPort::push_made() moves the event to a channel without
/// allocating memory.
template <typename T>
using MadeEvent = std::list<T>;

/// Functions of a Channel. Thread-safe.
struct ChannelPort {
  /// Appends an event. Throws std::bad_alloc if memory runs out, unless reserve() has reserved
  /// memory for the event.
  template <typename T>
  static void push(Channel<T>& channel, std::type_identity_t<T> value) {
    const std::lock_guard lock(channel.mutex_);
    if (channel.spare_.empty()) {
      channel.queue_.push_back(std::move(value));
    } else {
      channel.spare_.front() = std::move(value);
      channel.queue_.splice(channel.queue_.end(), channel.spare_, channel.spare_.begin());
    }
    channel.tell();
  }
  /// Moves the event of `made` to the end of the queue. `made` is empty afterwards.
  template <typename T>
  static void push_made(Channel<T>& channel, MadeEvent<T>& made) noexcept {
    const std::lock_guard lock(channel.mutex_);
    channel.queue_.splice(channel.queue_.end(), made, made.begin());
    channel.tell();
  }
  /// Reserves memory for one more event, until unreserve(). Call for each event whose loss could
  /// not be reported to the application. Throws std::bad_alloc if memory runs out.
  template <typename T>
  static void reserve(Channel<T>& channel) {
    const std::lock_guard lock(channel.mutex_);
    channel.spare_.emplace_back();
    ++channel.reserved_;
  }
  /// Reverses one reserve().
  template <typename T>
  static void unreserve(Channel<T>& channel) noexcept {
    const std::lock_guard lock(channel.mutex_);
    --channel.reserved_;
    if (channel.spare_.size() > channel.reserved_) channel.spare_.pop_front();
  }
  /// Returns the number of queued events for which `counts` returns true.
  template <typename T, typename Predicate>
  static std::size_t count(Channel<T>& channel, Predicate counts) {
    const std::lock_guard lock(channel.mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(channel.queue_, counts));
  }
  /// Removes the queued events for which `gone` returns true. Call before the object that these
  /// events refer to is destroyed.
  template <typename T, typename Predicate>
  static void remove(Channel<T>& channel, Predicate gone) {
    const std::lock_guard lock(channel.mutex_);
    const auto before = channel.queue_.size();
    std::erase_if(channel.queue_, gone);
    for (auto i = channel.queue_.size(); i < before; ++i) channel.forget_one();
  }

  /// Call when the application's thread is awake and will call leave() before it sleeps. Until
  /// leave() is called, new events do not make the descriptor readable, which saves system calls.
  template <typename T>
  static void attend(Channel<T>& channel) {
    const std::lock_guard lock(channel.mutex_);
    channel.attended_ = true;
  }
  /// Does the same as Channel::poll(), and makes the descriptor readable for the events that
  /// remain.
  template <typename T>
  static std::optional<T> leave(Channel<T>& channel) {
    const std::lock_guard lock(channel.mutex_);
    channel.attended_ = false;
    auto out = channel.take();
    for (; channel.unsignaled_ != 0; --channel.unsignaled_) channel.event_.signal();
    return out;
  }
};

}  // namespace iwarp::net
