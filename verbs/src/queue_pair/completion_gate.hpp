// SPDX-License-Identifier: Apache-2.0
// CompletionGate: keeps completions of a queue pair back, in order, until its consumer could know
// what happened before them; see QueuePair::announce(). Open unless somebody closes it. Who watches
// completions closes its fast way.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::verbs {

/// Told of each completion when it is made. Under a lock: must not call back.
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
    CompletionQueue::Reaped reaped;
  };

  /// Without the mutex, as it is asked for every completion.
  bool lets_pass(WcStatus status) const {
    return passes(open_.load(std::memory_order_acquire), status);
  }

  /// False: it may go after all, or there is no memory to keep it.
  bool hold(const Held& held) {
    const std::lock_guard lock(mutex_);
    if (watcher_ != nullptr) watcher_->completed(held.wc);
    if (passes(what_, held.wc.status)) return false;
    try {
      held_.push_back(held);
    } catch (const std::bad_alloc&) {
      return false;
    }
    open(Announce::kNothing);  // Nothing overtakes it.
    return true;
  }

  /// Gives `deliver` what may go from now on, oldest first, before anything newer.
  template <typename Deliver>
  void set(Announce what, Deliver deliver) {
    const std::lock_guard lock(mutex_);
    const auto stays = std::find_if(held_.begin(), held_.end(), [what](const Held& held) {
      return !passes(what, held.wc.status);
    });
    std::vector<Held> rest(stays, held_.end());  // If there is no memory, nothing has happened.
    std::for_each(held_.begin(), stays, deliver);
    held_.swap(rest);
    open(held_.empty() ? what : Announce::kNothing);
  }

  bool holds_requests() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(held_, is_request);
  }
  /// The oldest request that waits was not answered: if it was flushed, it fails with
  /// kRetryExceeded. Requests go before receives; each of the two keeps its order. Throws
  /// std::bad_alloc, and nothing has happened.
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

  /// From now on; null: nobody.
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
  // A receive that failed is no other than kRecv.
  static bool is_request(const Held& held) { return held.wc.opcode != WcOpcode::kRecv; }
  static bool passes(Announce what, WcStatus status) {
    if (what == Announce::kAll) return true;
    if (what == Announce::kNothing || status == WcStatus::kWrFlush) return false;
    return what == Announce::kUnflushed || status != WcStatus::kRetryExceeded;
  }

  std::atomic<Announce> open_{Announce::kAll};  ///< what_, or kNothing while somebody watches
  mutable std::mutex mutex_;                    ///< before that of a completion queue
  Announce what_ = Announce::kAll;
  CompletionWatcher* watcher_ = nullptr;
  std::vector<Held> held_;
};

}  // namespace iwarp::verbs
