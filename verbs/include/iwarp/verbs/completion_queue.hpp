// SPDX-License-Identifier: Apache-2.0
// Completion queue: polling, arming, and a hook for whoever sleeps on it (verbs draft section 8.2).
// Queue pairs of several connections add to it at a time; under its mutex only Waiters are locked.
// It makes no thread and does not block: to sleep, a program uses a completion channel.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// Lets a poll of an empty queue do the work of the connections that feed it.
class Progress {
 public:
  virtual void make_progress() = 0;
  /// The consumer is about to sleep: from now on other threads have to drive the connections.
  virtual void armed() = 0;

 protected:
  ~Progress() = default;
};

enum class Notify : std::uint8_t { kNext, kSolicited };

/// Whether one poll gives flushed completions together with the successful ones before them.
/// kApart: a program that stops polling once it has all it waits for does not see what was flushed
/// because its peer closed.
enum class Flushed : std::uint8_t { kTogether, kApart };

/// On cache lines of its own: its lock and counts are written by whoever completes and who polls.
class alignas(64) CompletionQueue {
 public:
  /// `capacity`: completions held at a time; what is not used takes no memory. `notify` is called
  /// without locks held, by whoever completed something, once per arm().
  CompletionQueue(std::size_t capacity, std::function<void()> notify);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// Takes up to out.size() completions, oldest first; returns how many. When there are none it
  /// drives the connections (see Progress) and looks once more. [VRB-51]
  std::size_t poll(std::span<WorkCompletion> out, Flushed flushed = Flushed::kTogether);

  /// One-shot: the next completion added after this call, or the next solicited one or error, calls
  /// `notify`. kNext wins over an earlier kSolicited. Pattern: arm, poll until empty, sleep.
  /// [VRB-52]
  void arm(Notify what);

  /// Errc::kInvalidArgument: 0, or less than it holds now.
  std::error_code resize(std::size_t capacity);
  std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  /// True once completions were lost; the queue is then unusable. [RDMAP-117]
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  std::uint32_t attached() const { return attached_.load(std::memory_order_relaxed); }

  // For queue pairs -----------------------------------------------------------------------------
  /// Where a queue learns how far its consumer has reaped. [VRB-42]
  struct Reaped {
    ReapCount* counter = nullptr;
    std::uint64_t value = 0;
  };
  /// False: overflow; the caller's queue pair is in error.
  bool push(const WorkCompletion& wc, bool solicited_or_error, Reaped reaped);
  /// After an overflow: true for who asks first, and tells of it.
  bool take_overflow() { return !overflow_told_.exchange(true); }
  /// The queue pair is going away: its completions stay, their Reaped does not.
  void forget(const ReapCount* counter);
  /// Takes the completions of requests of that queue pair that failed out; they count as reaped.
  void drop_failed(std::uint32_t qp_num);
  /// Something that succeeded on that queue pair has not been polled.
  bool has_success(std::uint32_t qp_num);
  /// Counts polls that left the queue empty: after one the consumer waits for what is under way.
  std::uint32_t times_emptied() const { return emptied_.load(std::memory_order_relaxed); }
  /// Posted requests wait for the consumer to poll.
  void let_posts_wait() { posts_wait_.store(true, std::memory_order_release); }
  /// Calls `notify` if armed, as if a completion had been added, so that the consumer polls.
  void call_consumer();
  void attach() { attached_.fetch_add(1, std::memory_order_relaxed); }
  void detach() { attached_.fetch_sub(1, std::memory_order_relaxed); }
  // For Progress.
  /// The consumer is to be called.
  bool is_armed() const { return armed_.load(std::memory_order_relaxed) != Armed::kNo; }
  bool take_waiting_posts() {
    return posts_wait_.load(std::memory_order_relaxed) && posts_wait_.exchange(false);
  }
  void set_progress(Progress* progress) { progress_.store(progress); }

 private:
  struct Entry;
  struct Ring;
  enum class Armed : std::uint8_t { kNo, kSolicited, kNext };

  void count_emptied();
  std::size_t take(std::span<WorkCompletion> out, Flushed flushed);

  std::atomic<std::size_t> capacity_;
  const std::function<void()> notify_;
  bytes::Mutex mutex_;
  std::unique_ptr<Ring> ring_;            ///< grows up to capacity_
  std::atomic<std::size_t> size_{0};      ///< of ring_, for a look without the mutex
  std::atomic<Armed> armed_{Armed::kNo};  ///< changed under the mutex
  std::atomic<bool> overflowed_{false};
  std::atomic<bool> overflow_told_{false};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<std::uint32_t> emptied_{0};
  std::atomic<bool> posts_wait_{false};
  std::atomic<Progress*> progress_{nullptr};
};

}  // namespace iwarp::verbs
