// SPDX-License-Identifier: Apache-2.0
// Completion queue: polling and arming (verbs draft section 8.2). A completion queue has no thread
// and never blocks. To sleep until there is a completion, an application uses a completion channel
// (net/completion_channel.hpp).
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

/// Drives the connections that feed a completion queue. A completion queue calls its Progress when
/// the application polls the empty queue.
class Progress {
 public:
  /// Does the pending work of the connections. Called when the application has polled the queue and
  /// found it empty.
  virtual void make_progress() = 0;
  /// Makes other threads drive the connections from now on. Called when the application is about to
  /// sleep.
  virtual void armed() = 0;

 protected:
  ~Progress() = default;
};

/// Which completion makes an armed queue notify the application.
enum class Notify : std::uint8_t {
  kNext,       ///< the next completion
  kSolicited,  ///< the next completion that is solicited or has failed
};

/// Whether one poll returns flushed completions together with the successful ones before them.
enum class Flushed : std::uint8_t {
  kTogether,  ///< one poll may return flushed and successful completions
  /// A poll stops before the first flushed completion that follows a successful one; the next poll
  /// returns the flushed completion. So an application that stops polling after the completions
  /// that it waits for does not see requests that were flushed because the peer closed.
  kApart,
};

/// A completion queue. Thread-safe; the queue pairs of several connections may feed it. A thread
/// that holds the queue's mutex locks no other mutex except that of Waiters. The object is aligned
/// to a cache line, because polling and completing threads both write its mutex and counters.
class alignas(64) CompletionQueue {
 public:
  /// `capacity` is the maximum number of completions that the queue holds at a time, at least 1.
  /// Unused capacity takes no memory. The thread that completes a request calls `notify` (may be
  /// empty) once per arm(), without locks held.
  CompletionQueue(std::size_t capacity, std::function<void()> notify);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// Moves up to out.size() completions to `out`, oldest first, and returns their number. If the
  /// queue is empty, drives the connections that feed it (see Progress) and then polls once more.
  /// Does not block. [VRB-51]
  std::size_t poll(std::span<WorkCompletion> out, Flushed flushed = Flushed::kTogether);

  /// Arms the queue once: when the next completion of kind `what` is pushed after this call,
  /// `notify` is called. kNext prevails over an earlier kSolicited. To sleep without missing a
  /// completion, arm the queue, poll until it is empty, and then sleep. [VRB-52]
  void arm(Notify what);

  /// Changes the capacity. Fails with `Errc::kInvalidArgument` if `capacity` is 0 or less than the
  /// number of completions in the queue.
  std::error_code resize(std::size_t capacity);
  /// Returns the maximum number of completions that the queue can hold.
  std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  /// Returns the number of completions that have not been polled yet. Another thread may change the
  /// number at any time.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  /// Returns whether a completion was lost because the queue was full. The queue then accepts no
  /// more completions, and its queue pairs move to Error. [RDMAP-117]
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  /// Returns how many queue pairs use the queue. A queue pair that uses it for sends and for
  /// receives counts twice.
  std::uint32_t attached() const { return attached_.load(std::memory_order_relaxed); }

  // For queue pairs -----------------------------------------------------------------------------
  /// Polling a completion raises `counter` to `value`, unless `counter` is null. [VRB-42]
  struct Reaped {
    ReapCount* counter = nullptr;
    std::uint64_t value = 0;
  };
  /// Appends a completion, and calls `notify` if the queue is armed for this kind of completion.
  /// Returns false if the completion is lost, because the queue is full or has overflowed before,
  /// or because there is no memory.
  bool push(const WorkCompletion& wc, bool solicited_or_error, Reaped reaped);
  /// Test-and-set: returns true only in the first call, whose caller has to report the overflow.
  bool take_overflow() { return !overflow_told_.exchange(true); }
  /// Removes all references to `counter` from the queued completions. Call before `counter` is
  /// destroyed.
  void forget(const ReapCount* counter);
  /// Discards the failed completions of `qp_num` and frees the slots of their requests.
  void drop_failed(std::uint32_t qp_num);
  /// Returns whether a successful completion of `qp_num` has not been polled yet.
  bool has_success(std::uint32_t qp_num);
  /// Returns a count that changes whenever a poll leaves the queue empty. A changed count means
  /// that the application has polled all completions and now waits for requests in flight.
  std::uint32_t times_emptied() const { return emptied_.load(std::memory_order_relaxed); }
  /// Records that posted requests are delayed until the application polls; see
  /// take_waiting_posts().
  void let_posts_wait() { posts_wait_.store(true, std::memory_order_release); }
  /// Calls `notify` if the queue is armed, as if a completion had been pushed, so that the
  /// application polls.
  void call_consumer();
  /// Counts a queue pair as a user of this queue, see attached().
  void attach() { attached_.fetch_add(1, std::memory_order_relaxed); }
  /// Reverses attach().
  void detach() { attached_.fetch_sub(1, std::memory_order_relaxed); }

  // For Progress --------------------------------------------------------------------------------
  /// Returns whether the queue is armed.
  bool is_armed() const { return armed_.load(std::memory_order_relaxed) != Armed::kNo; }
  /// Test-and-clear: returns whether let_posts_wait() was called since the last
  /// take_waiting_posts().
  bool take_waiting_posts() {
    return posts_wait_.load(std::memory_order_relaxed) && posts_wait_.exchange(false);
  }
  /// Sets the object that poll() and arm() call; null unsets it. `progress` must outlive the queue
  /// or be unset before `progress` is destroyed.
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
  std::unique_ptr<Ring> ring_;  ///< holds the completions; grows up to capacity_
  /// number of completions in ring_; may be read without the mutex
  std::atomic<std::size_t> size_{0};
  std::atomic<Armed> armed_{Armed::kNo};  ///< written only with the mutex held
  std::atomic<bool> overflowed_{false};
  std::atomic<bool> overflow_told_{false};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<std::uint32_t> emptied_{0};
  std::atomic<bool> posts_wait_{false};
  std::atomic<Progress*> progress_{nullptr};
};

}  // namespace iwarp::verbs
