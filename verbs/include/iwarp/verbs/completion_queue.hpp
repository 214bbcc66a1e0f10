// SPDX-License-Identifier: Apache-2.0
// Completion queue: polling and arming (verbs draft section 8.2). It makes no thread and does not
// block: to sleep, an application uses a completion channel (net/completion_channel.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

class ReapCount;

/// Drives the connections that feed a completion queue when the application polls it empty.
class Progress {
 public:
  /// The application has polled an empty queue: does pending work of the connections.
  virtual void make_progress() = 0;
  /// The application is about to sleep: other threads have to drive the connections from now on.
  virtual void armed() = 0;

 protected:
  ~Progress() = default;
};

/// Which completions an armed queue notifies the application of.
enum class Notify : std::uint8_t {
  kNext,       ///< the next one
  kSolicited,  ///< the next one that is solicited or failed
};

/// Whether one poll returns flushed completions together with the successful ones before them.
enum class Flushed : std::uint8_t {
  kTogether,  ///< one poll returns both
  /// A poll ends before the first flushed completion that follows a successful one: an application
  /// that stops polling once it has every completion it waits for does not see those that were
  /// flushed because its peer closed.
  kApart,
};

/// A completion queue. Thread-safe; the queue pairs of several connections may feed it. Under its
/// mutex only that of Waiters is locked. Aligned to cache lines of its own, because polling and
/// completing threads write its lock and counters.
class alignas(64) CompletionQueue {
 public:
  /// `capacity`: completions held at a time, at least 1; unused capacity takes no memory. `notify`
  /// (may be empty) is called once per arm(), without locks held, by the thread that completed a
  /// request.
  CompletionQueue(std::size_t capacity, std::function<void()> notify);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// Moves up to out.size() completions to `out`, oldest first, and returns their number. If the
  /// queue is empty, drives the connections that feed it (see Progress) and tries once more. Does
  /// not block. [VRB-51]
  std::size_t poll(std::span<WorkCompletion> out, Flushed flushed = Flushed::kTogether);

  /// Arms the queue once: the next completion of that kind, pushed after this call, calls `notify`.
  /// kNext prevails over an earlier kSolicited. To sleep without missing one: arm, poll until
  /// empty, then sleep. [VRB-52]
  void arm(Notify what);

  /// Changes the capacity. Fails with `Errc::kInvalidArgument` if `capacity` is 0 or less than the
  /// number of completions held at present.
  std::error_code resize(std::size_t capacity);
  /// Returns how many completions the queue can hold.
  std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  /// Returns whether a completion was lost because the queue was full. It then accepts no more of
  /// them, and its queue pairs go to Error. [RDMAP-117]
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  /// Returns how many queue pairs use it, counted twice if for sends and receives.
  std::uint32_t attached() const { return attached_.load(std::memory_order_relaxed); }

  // For queue pairs -----------------------------------------------------------------------------
  /// The counter to raise to `value` when the completion is polled, or null. [VRB-42]
  struct Reaped {
    ReapCount* counter = nullptr;
    std::uint64_t value = 0;
  };
  /// Appends a completion and calls `notify` if armed for it. Returns false if the queue is full,
  /// has overflowed before or there is no memory: the completion is lost.
  bool push(const WorkCompletion& wc, bool solicited_or_error, Reaped reaped);
  /// Test-and-clear: returns true exactly once, to the caller that has to report an overflow.
  bool take_overflow() { return !overflow_told_.exchange(true); }
  /// Detaches `counter`, which is about to be destroyed, from the completions held.
  void forget(const ReapCount* counter);
  /// Discards the failed completions of `qp_num`; their slots count as reaped.
  void drop_failed(std::uint32_t qp_num);
  /// Returns whether a successful completion of `qp_num` has not been polled yet.
  bool has_success(std::uint32_t qp_num);
  /// Returns a count that changes whenever a poll leaves the queue empty: the application then
  /// waits for requests in flight.
  std::uint32_t times_emptied() const { return emptied_.load(std::memory_order_relaxed); }
  /// Notes that posted requests are delayed until the application polls; see take_waiting_posts().
  void let_posts_wait() { posts_wait_.store(true, std::memory_order_release); }
  /// Calls `notify` if armed, as a completion would, so that the application polls.
  void call_consumer();
  /// Counts a queue pair as a user of this queue, or no longer: see attached().
  void attach() { attached_.fetch_add(1, std::memory_order_relaxed); }
  /// Reverses attach().
  void detach() { attached_.fetch_sub(1, std::memory_order_relaxed); }

  // For Progress --------------------------------------------------------------------------------
  /// Returns whether the queue is armed.
  bool is_armed() const { return armed_.load(std::memory_order_relaxed) != Armed::kNo; }
  /// Test-and-clear of let_posts_wait().
  bool take_waiting_posts() {
    return posts_wait_.load(std::memory_order_relaxed) && posts_wait_.exchange(false);
  }
  /// Sets what poll() and arm() call; null unsets it. It must outlive the queue or be unset.
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
  std::atomic<std::size_t> size_{0};      ///< of ring_, to be read without the mutex
  std::atomic<Armed> armed_{Armed::kNo};  ///< changed under the mutex
  std::atomic<bool> overflowed_{false};
  std::atomic<bool> overflow_told_{false};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<std::uint32_t> emptied_{0};
  std::atomic<bool> posts_wait_{false};
  std::atomic<Progress*> progress_{nullptr};
};

}  // namespace iwarp::verbs
