// SPDX-License-Identifier: Apache-2.0
// ReceiveQueue and SharedReceiveQueue: posted receives (verbs draft sections 6.3 and 8.1).
#include "iwarp/verbs/receive_queue.hpp"

#include <algorithm>
#include <mutex>

#include "iwarp/verbs/qp_driver.hpp"
#include "queues/growing_ring.hpp"

namespace iwarp::verbs {

struct ReceiveQueue::Ring : GrowingRing<PostedReceive> {};

ReceiveQueue::ReceiveQueue(std::size_t max_wr, std::size_t max_sge)
    : max_wr_(max_wr), max_sge_(max_sge), ring_(std::make_unique<Ring>()) {}

ReceiveQueue::~ReceiveQueue() = default;

std::error_code ReceiveQueue::post(const RecvWr& wr) {
  if (wr.sgl.size() > max_sge_) return make_error_code(Errc::kTooManySge);
  std::uint64_t total = 0;
  for (const Sge& sge : wr.sgl) total += sge.length;
  if (total > UINT32_MAX) return make_error_code(Errc::kMessageTooLong);  // [DDP-38]
  const std::lock_guard lock(mutex_);
  const auto free_from = reuse_at_once_ ? taken() : reaped_.value();
  if (posted_ - free_from >= max_wr_) return make_error_code(Errc::kQueueFull);
  if (!ring_->make_room()) return std::make_error_code(std::errc::not_enough_memory);
  ring_->push_back() = {.wr_id = wr.wr_id, .sgl = SgeList(wr.sgl.begin(), wr.sgl.end())};
  ++posted_;
  return {};
}

ReceiveFound ReceiveQueue::take_for(std::size_t length, PostedReceive& out) {
  const std::lock_guard lock(mutex_);
  Ring& ring = *ring_;
  if (ring.empty()) return ReceiveFound::kNone;
  std::size_t room = 0;
  for (const Sge& sge : ring.front().sgl) room += sge.length;
  if (room < length) return ReceiveFound::kTooShort;
  out = ring.front();
  ring.pop_front();
  taken_.store(taken() + 1, std::memory_order_relaxed);
  return ReceiveFound::kTaken;
}

std::vector<PostedReceive> ReceiveQueue::withdraw() {
  const std::lock_guard lock(mutex_);
  std::vector<PostedReceive> out;
  out.reserve(ring_->size());
  for (; !ring_->empty(); ring_->pop_front()) out.push_back(ring_->front());
  posted_ = taken();
  return out;
}

std::optional<std::uint64_t> ReceiveQueue::next_posted(std::uint64_t sequence,
                                                       PostedReceive& out) const {
  const std::lock_guard lock(mutex_);
  // New receives reuse the sequence numbers of withdrawn receives, so `sequence` may be above
  // posted_.
  const auto at = sequence > posted_ ? taken() : std::max(sequence, taken());
  if (at >= posted_) return std::nullopt;
  out = (*ring_)[static_cast<std::size_t>(at - taken())];
  return at;
}

std::size_t ReceiveQueue::size() const {
  const std::lock_guard lock(mutex_);
  return ring_->size();
}

SharedReceiveQueue::SharedReceiveQueue(PdId pd, const Limits& limits,
                                       std::function<void(SharedReceiveQueue&)> limit_reached)
    : pd_(pd),
      limits_(limits),
      queue_(limits.max_wr, limits.max_sge),
      limit_reached_(std::move(limit_reached)) {
  queue_.reuse_at_once();
}

std::error_code SharedReceiveQueue::post_recv(const RecvWr& wr) {
  if (queue_.size() == 0) imminent_.tell_imminent();
  if (const auto error = queue_.post(wr)) return error;
  waiters_.tell();
  return {};
}

bool SharedReceiveQueue::take_or_await(const std::weak_ptr<QpDriver>& driver, PostedReceive& out) {
  waiters_.add(driver);
  return take(out);
}

std::error_code SharedReceiveQueue::arm_limit(std::size_t limit) {
  if (limit > limits_.max_wr) return make_error_code(Errc::kInvalidArgument);
  armed_limit_.store(limit);
  return {};
}

ReceiveFound SharedReceiveQueue::take_for(std::size_t length, PostedReceive& out) {
  const auto found = queue_.take_for(length, out);
  const auto limit = armed_limit_.load();
  if (limit != 0 && queue_.size() < limit) {
    auto expected = limit;
    if (armed_limit_.compare_exchange_strong(expected, 0) && limit_reached_) limit_reached_(*this);
  }
  return found;
}

}  // namespace iwarp::verbs
