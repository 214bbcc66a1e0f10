// SPDX-License-Identifier: Apache-2.0
// The ring behind a completion queue, and its one-shot notification (verbs draft section 8.2).
#include "iwarp/verbs/completion_queue.hpp"

#include <algorithm>

namespace iwarp::verbs {

// The slot of the request is free again only now. [VRB-42]
void CompletionQueue::Entry::reap() const {
  if (reaped.counter != nullptr) reaped.counter->store(reaped.value, std::memory_order_release);
}

CompletionQueue::CompletionQueue(std::size_t capacity, std::function<void()> notify)
    : capacity_(capacity), notify_(std::move(notify)), ring_(capacity) {}

std::size_t CompletionQueue::poll(std::span<WorkCompletion> out) {
  if (size_.load(std::memory_order_acquire) == 0) {
    if (auto* progress = progress_.load()) progress->make_progress();
  }
  return take(out);
}

std::size_t CompletionQueue::take(std::span<WorkCompletion> out) {
  if (size_.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard lock(mutex_);
  const auto n = std::min(out.size(), size_.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < n; ++i) {
    const Entry& entry = ring_[head_];
    out[i] = entry.wc;
    entry.reap();
    head_ = (head_ + 1) % capacity_;
  }
  size_.fetch_sub(n, std::memory_order_release);
  return n;
}

void CompletionQueue::arm(Notify what) {
  {
    const std::lock_guard lock(mutex_);
    if (armed_ != Armed::kNext) {
      armed_ = what == Notify::kNext ? Armed::kNext : Armed::kSolicited;
    }
  }
  if (auto* progress = progress_.load()) progress->armed();
}

bool CompletionQueue::push(const WorkCompletion& wc, bool solicited_or_error, Reaped reaped) {
  bool fire = false;
  {
    const std::lock_guard lock(mutex_);
    const auto size = size_.load(std::memory_order_relaxed);
    if (overflowed_.load(std::memory_order_relaxed) || size == capacity_) {
      overflowed_.store(true, std::memory_order_relaxed);
      return false;
    }
    ring_[(head_ + size) % capacity_] = {.wc = wc, .reaped = reaped};
    size_.store(size + 1, std::memory_order_release);
    // Errors count as solicited. [VRB-52]
    fire = armed_ == Armed::kNext || (armed_ == Armed::kSolicited && solicited_or_error);
    if (fire) armed_ = Armed::kNo;
  }
  if (fire && notify_) notify_();
  return true;
}

void CompletionQueue::forget(const std::atomic<std::uint64_t>* counter) {
  const std::lock_guard lock(mutex_);
  for (auto& entry : ring_) {
    if (entry.reaped.counter == counter) entry.reaped = {};
  }
}

void CompletionQueue::drop(std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  const auto size = size_.load(std::memory_order_relaxed);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const Entry& entry = ring_[(head_ + i) % capacity_];
    if (entry.wc.qp_num == qp_num) {
      entry.reap();
    } else {
      ring_[(head_ + kept++) % capacity_] = entry;
    }
  }
  size_.store(kept, std::memory_order_release);
}

bool CompletionQueue::has_success(std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  const auto size = size_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < size; ++i) {
    const WorkCompletion& wc = ring_[(head_ + i) % capacity_].wc;
    if (wc.qp_num == qp_num && wc.status == WcStatus::kSuccess) return true;
  }
  return false;
}

}  // namespace iwarp::verbs
