// SPDX-License-Identifier: Apache-2.0
// CompletionGate: holds completions of a queue pair back, in order, until QueuePairPort::announce()
// lets them pass. The application must first see the connection events that precede these
// completions. By default all completions pass. While there is a CompletionWatcher, lets_pass()
// returns false, so that hold() shows each completion to the watcher.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"

namespace iwarp::verbs {

/// Observes each completion when it is made. Called with a lock held, so completed() must not call
/// the queue pair.
class CompletionWatcher {
 public:
  virtual void completed(const WorkCompletion& wc) = 0;

 protected:
  ~CompletionWatcher() = default;
};

class CompletionGate {
 public:
  struct Held {
    CompletionQueue* cq;
    WorkCompletion wc;
    bool notify;
    Reaped reaped;
    /// Whether the stream goes on although a request was flushed; see make_unreliable().
    bool goes_on = false;
  };

  /// Returns whether a completion may be pushed at once. Takes no mutex, because it is called for
  /// every completion.
  bool lets_pass(WcStatus status) const {
    return passes(open_.load(std::memory_order_acquire), status);
  }

  /// Holds a completion back. Returns false if the completion may be delivered after all, or if
  /// there is no memory to hold it back. [IBV-311]
  bool hold(const Held& held) {
    const std::lock_guard lock(mutex_);
    if (watcher_ != nullptr) watcher_->completed(held.wc);
    if (passes(what_, held)) return false;
    try {
      held_.push_back(held);
    } catch (const std::bad_alloc&) {
      return false;
    }
    open(Announce::kNothing);  // No later completion may overtake this one.
    return true;
  }

  /// Sets which completions pass from now on. First calls `deliver` for the held completions that
  /// may now be delivered, oldest first.
  template <typename Deliver>
  void set(Announce what, Deliver deliver) {
    const std::lock_guard lock(mutex_);
    const auto stays = std::find_if(held_.begin(), held_.end(),
                                    [what](const Held& held) { return !passes(what, held); });
    std::vector<Held> rest(stays, held_.end());  // If this throws, nothing has changed.
    std::for_each(held_.begin(), stays, deliver);
    held_.swap(rest);
    open(held_.empty() ? what : Announce::kNothing);
  }

  bool holds_requests() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(held_, is_request);
  }
  /// If the oldest held completion of a request was flushed, changes its status to kRetryExceeded.
  /// Moves completions of requests before those of receives; both groups keep their order. If this
  /// throws std::bad_alloc, nothing has changed.
  void fail_oldest_request() {
    const std::lock_guard lock(mutex_);
    std::vector<Held> sorted;
    sorted.reserve(held_.size());
    std::ranges::copy_if(held_, std::back_inserter(sorted), is_request);
    if (sorted.empty()) return;
    WcStatus& status = sorted.front().wc.status;
    if (status == WcStatus::kWrFlush) status = WcStatus::kRetryExceeded;
    std::ranges::copy_if(held_, std::back_inserter(sorted), std::not_fn(is_request));
    held_.swap(sorted);
  }

  /// Notifies `watcher` of each completion from now on; null removes the current watcher.
  void watch(CompletionWatcher* watcher) {
    const std::lock_guard lock(mutex_);
    watcher_ = watcher;
    open(what_);
  }

 private:
  void open(Announce what) {
    what_ = what;
    open_.store(watcher_ == nullptr ? what : Announce::kNothing, std::memory_order_release);
  }
  // This test is correct for failed completions as well, because the opcode of a failed receive is
  // kRecv.
  static bool is_request(const Held& held) { return held.wc.opcode != WcOpcode::kRecv; }
  static bool passes(Announce what, const Held& held) {
    return passes(what, held.goes_on ? WcStatus::kSuccess : held.wc.status);
  }
  static bool passes(Announce what, WcStatus status) {
    if (what == Announce::kAll) return true;
    if (what == Announce::kNothing || status == WcStatus::kWrFlush) return false;
    return what == Announce::kUnflushed || status != WcStatus::kRetryExceeded;
  }

  /// completions that pass; kNothing while there is a watcher
  std::atomic<Announce> open_{Announce::kAll};
  mutable std::mutex mutex_;  ///< locked before the mutex of a completion queue
  Announce what_ = Announce::kAll;
  CompletionWatcher* watcher_ = nullptr;
  std::vector<Held> held_;
};

}  // namespace iwarp::verbs
