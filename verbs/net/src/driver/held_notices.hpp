// SPDX-License-Identifier: Apache-2.0
// HeldNotices: makes the worker answer the peer before it wakes the application. An application
// that is notified of its peer's last message may exit at once. Without the earlier answer, the
// peer would not learn that the message has arrived.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "iwarp/net/insist.hpp"
#include "iwarp/verbs/completion_queue.hpp"

namespace iwarp::net {

/// While an instance exists, completions that the instance's thread adds do not notify the
/// application. release() or the destructor delivers the delayed notices.
class HeldNotices {
 public:
  using Notify = std::function<void(verbs::CompletionQueue&)>;

  HeldNotices() : outer_(std::exchange(current_, this)) {}
  ~HeldNotices() {
    current_ = outer_;
    release();
  }
  HeldNotices(const HeldNotices&) = delete;
  HeldNotices& operator=(const HeldNotices&) = delete;

  /// Delivers the notices that this instance holds.
  void release() {
    for (const auto& [notify, queue] : std::span(held_).first(std::exchange(count_, 0))) {
      insist([&] { (*notify)(*queue); });
    }
  }
  /// Calls `notify` with `queue`: at once if the calling thread has no instance or the instance is
  /// full, and otherwise when the instance releases its notices. `notify` and `queue` must live
  /// until then.
  static void tell(const Notify& notify, verbs::CompletionQueue& queue) {
    HeldNotices* const holder = current_;
    if (holder == nullptr || holder->count_ == kMost) return notify(queue);
    holder->held_[holder->count_++] = {&notify, &queue};
  }

 private:
  /// Number of notices that an instance can hold. A turn rarely needs more, because a connection
  /// has two completion queues, and the application rarely arms either of them again within the
  /// turn.
  static constexpr std::size_t kMost = 8;

  static inline thread_local constinit HeldNotices* current_ = nullptr;

  HeldNotices* const outer_;
  std::array<std::pair<const Notify*, verbs::CompletionQueue*>, kMost> held_{};
  std::size_t count_ = 0;
};

}  // namespace iwarp::net
