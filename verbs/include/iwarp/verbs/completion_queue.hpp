// SPDX-License-Identifier: Apache-2.0
// Completion queue: polling and arming (verbs draft section 8.2). A completion queue has no thread
// and never blocks. To sleep until there is a completion, an application uses a completion channel
// (net/completion_channel.hpp). A queue does not judge its completions: a failed request only has
// another status.
//
// <!-- figure: source test/net/examples.cpp | block WorkCompletion sleep_until_completion -->
// ```cpp
// WorkCompletion sleep_until_completion(CompletionQueue& cq, CompletionChannel& channel) {
//   for (WorkCompletion wc;;) {
//     if (cq.poll({&wc, 1}) == 1) return wc;
//     cq.arm(Notify::kNext);
//     // A completion that was pushed before arm() causes no event, so poll once more.
//     if (cq.poll({&wc, 1}) == 1) return wc;
//     (void)channel.wait(kLimit);
//   }
// }
// ```
// <!-- end -->
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

class Progress;

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

 private:
  friend struct CompletionQueuePort;
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
  std::atomic<bool> overflow_reported_{false};
  std::atomic<std::uint32_t> attached_{0};
  std::atomic<std::uint32_t> emptied_{0};
  std::atomic<bool> posts_wait_{false};
  std::atomic<Progress*> progress_{nullptr};
};

}  // namespace iwarp::verbs
