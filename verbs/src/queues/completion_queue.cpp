// SPDX-License-Identifier: Apache-2.0
// CompletionQueue: the ring of completions and the one-shot notification (verbs draft section 8.2).
#include <algorithm>
#include <mutex>
#include <utility>

#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/growing_ring.hpp"
#include "iwarp/verbs/reap_count.hpp"

namespace iwarp::verbs {
namespace {

bool flushed_behind_success(const WorkCompletion& before, const WorkCompletion& wc) {
  return before.status == WcStatus::kSuccess && wc.status == WcStatus::kWrFlush;
}

}  // namespace

struct CompletionQueue::Entry {
  WorkCompletion wc;
  Reaped reaped;

  // Frees the slot of the request. Call when the completion has been polled. [VRB-42] [IBV-302]
  void reap() const {
    if (reaped.counter != nullptr) reaped.counter->store(reaped.value);
  }
};

struct CompletionQueue::Ring : GrowingRing<Entry> {};

CompletionQueue::CompletionQueue(std::size_t capacity, std::function<void()> notify)
    : capacity_(capacity), notify_(std::move(notify)), ring_(std::make_unique<Ring>()) {}

CompletionQueue::~CompletionQueue() = default;

// If two threads count at the same time, the value may grow by only 1. That is enough, because only
// a change of the value matters.
inline void CompletionQueue::count_emptied() {
  emptied_.store(emptied_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::size_t CompletionQueue::poll(std::span<WorkCompletion> out, Flushed flushed) {
  if (size_.load(std::memory_order_acquire) == 0) {
    count_emptied();
    if (auto* progress = progress_.load()) progress->make_progress();
    if (size_.load(std::memory_order_acquire) == 0) return 0;
  }
  return take(out, flushed);
}

// [IBV-124, IBV-219, IBV-220, IBV-272]
std::size_t CompletionQueue::take(std::span<WorkCompletion> out, Flushed flushed) {
  std::size_t n = 0;
  bool fire = false;
  {
    const std::lock_guard lock(mutex_);
    Ring& ring = *ring_;
    const auto room = std::min(out.size(), ring.size());
    for (; n < room; ++n) {
      const Entry& oldest = ring[n];
      const bool apart = n != 0 && flushed == Flushed::kApart;
      if (apart && flushed_behind_success(out[n - 1], oldest.wc)) break;
      out[n] = oldest.wc;
      oldest.reap();
    }
    ring.pop_front(n);
    size_.store(ring.size(), std::memory_order_release);
    if (ring.empty()) count_emptied();
    // A caller that gets fewer completions than it requested may assume that the queue is empty,
    // and block. So notify it of the completions that remain.
    fire = n < room && armed_ != Armed::kNo;
    if (fire) armed_ = Armed::kNo;
  }
  if (fire && notify_) notify_();
  return n;
}

// [IBV-239, IBV-240, IBV-241]
std::error_code CompletionQueue::resize(std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  if (capacity == 0 || capacity < ring_->size()) return make_error_code(Errc::kInvalidArgument);
  capacity_.store(capacity, std::memory_order_relaxed);
  return {};
}

// [IBV-222, IBV-223, IBV-224, IBV-229]
void CompletionQueue::arm(Notify what) {
  {
    const std::lock_guard lock(mutex_);
    if (armed_ != Armed::kNext) {
      armed_ = what == Notify::kNext ? Armed::kNext : Armed::kSolicited;
    }
  }
  if (auto* progress = progress_.load()) progress->armed();
}

// [IBV-225, IBV-226, IBV-227, IBV-228]
bool CompletionQueuePort::push(CompletionQueue& cq, const WorkCompletion& wc,
                               bool solicited_or_error, Reaped reaped) {
  bool fire = false;
  {
    const std::lock_guard lock(cq.mutex_);
    CompletionQueue::Ring& ring = *cq.ring_;
    if (cq.overflowed() || ring.size() == cq.capacity() || !ring.make_room()) {
      // [IBV-291]
      cq.overflowed_.store(true, std::memory_order_relaxed);
      return false;
    }
    CompletionQueue::Entry& entry = ring.push_back();
    entry.wc = wc;
    entry.reaped = reaped;
    cq.size_.store(ring.size(), std::memory_order_release);
    // Errors count as solicited. [VRB-52]
    const auto armed = cq.armed_.load();
    fire = armed != CompletionQueue::Armed::kNo &&
           (armed == CompletionQueue::Armed::kNext || solicited_or_error);
    if (fire) cq.armed_ = CompletionQueue::Armed::kNo;
  }
  if (fire && cq.notify_) cq.notify_();
  return true;
}

void CompletionQueuePort::call_consumer(CompletionQueue& cq) {
  {
    const std::lock_guard lock(cq.mutex_);
    if (cq.armed_.exchange(CompletionQueue::Armed::kNo) == CompletionQueue::Armed::kNo) return;
  }
  if (cq.notify_) cq.notify_();
}

void CompletionQueuePort::forget(CompletionQueue& cq, const ReapCount* counter) {
  const std::lock_guard lock(cq.mutex_);
  for (std::size_t i = 0; i < cq.ring_->size(); ++i) {
    Reaped& reaped = (*cq.ring_)[i].reaped;
    if (reaped.counter == counter) reaped = {};
  }
}

// [IBV-309, IBV-310]
void CompletionQueuePort::drop_failed(CompletionQueue& cq, std::uint32_t qp_num) {
  const std::lock_guard lock(cq.mutex_);
  cq.ring_->erase_if([qp_num](const CompletionQueue::Entry& entry) {
    if (entry.wc.qp_num != qp_num || entry.wc.status == WcStatus::kSuccess) return false;
    entry.reap();
    return true;
  });
  cq.size_.store(cq.ring_->size(), std::memory_order_release);
}

bool CompletionQueuePort::has_success(CompletionQueue& cq, std::uint32_t qp_num) {
  const std::lock_guard lock(cq.mutex_);
  for (std::size_t i = 0; i < cq.ring_->size(); ++i) {
    const WorkCompletion& wc = (*cq.ring_)[i].wc;
    if (wc.qp_num == qp_num && wc.status == WcStatus::kSuccess) return true;
  }
  return false;
}

}  // namespace iwarp::verbs
