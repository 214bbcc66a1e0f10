// SPDX-License-Identifier: Apache-2.0
// ReceiveQueue, and SharedReceiveQueue with its limit event and with the streams that wait for a
// receive.
#include "iwarp/verbs/receive_queue.hpp"

#include <algorithm>
#include <mutex>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

ReceiveQueue::ReceiveQueue(std::size_t max_wr, std::size_t max_sge)
    : max_wr_(max_wr), max_sge_(max_sge) {}

// [IBV-369, IBV-370, IBV-385, IBV-539]
std::error_code ReceiveQueue::post(const RecvWr& wr) {
  if (wr.sgl.size() > max_sge_) return make_error_code(Errc::kTooManySge);
  std::uint64_t total = 0;
  for (const Sge& sge : wr.sgl) total += sge.length;
  if (total > UINT32_MAX) return make_error_code(Errc::kMessageTooLong);  // [DDP-38]
  const std::lock_guard lock(mutex_);
  const auto free_from = reuse_at_once_ ? taken() : reaped_.value();
  if (posted_ - free_from >= max_wr_) return make_error_code(Errc::kQueueFull);
  if (!ring_.make_room()) return std::make_error_code(std::errc::not_enough_memory);
  ring_.push_back() = {.wr_id = wr.wr_id, .sgl = SgeList(wr.sgl.begin(), wr.sgl.end())};
  ++posted_;
  return {};
}

// [IBV-372, IBV-538]
ReceiveFound ReceiveQueue::take_for(std::size_t length, PostedReceive& out) {
  const std::lock_guard lock(mutex_);
  if (ring_.empty()) return ReceiveFound::kNone;
  std::size_t room = 0;
  for (const Sge& sge : ring_.front().sgl) room += sge.length;
  if (room < length) return ReceiveFound::kTooShort;
  out = ring_.front();
  ring_.pop_front();
  taken_.store(taken() + 1, std::memory_order_relaxed);
  return ReceiveFound::kTaken;
}

std::vector<PostedReceive> ReceiveQueue::withdraw() {
  const std::lock_guard lock(mutex_);
  std::vector<PostedReceive> out;
  out.reserve(ring_.size());
  for (; !ring_.empty(); ring_.pop_front()) out.push_back(ring_.front());
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
  out = ring_[static_cast<std::size_t>(at - taken())];
  return at;
}

std::size_t ReceiveQueue::size() const {
  const std::lock_guard lock(mutex_);
  return ring_.size();
}

// Shared receive queues
// -----------------------------------------------------------------------------

struct SharedReceiveQueue::Impl {
  explicit Impl(const Limits& limits) : queue(limits.max_wr, limits.max_sge) {}

  ReceiveQueue queue;
  std::function<void(SharedReceiveQueue&)> limit_reached;
  std::atomic<std::size_t> armed_limit{0};
  std::atomic<std::uint32_t> attached{0};
  Waiters waiters;   ///< drivers registered by await()
  Waiters imminent;  ///< drivers registered by await_imminent()
};

SharedReceiveQueue::SharedReceiveQueue(PdId pd, const Limits& limits,
                                       std::function<void(SharedReceiveQueue&)> limit_reached)
    : pd_(pd), limits_(limits), impl_(std::make_unique<Impl>(limits)) {
  impl_->queue.reuse_at_once();
  impl_->limit_reached = std::move(limit_reached);
}

SharedReceiveQueue::~SharedReceiveQueue() = default;

std::error_code SharedReceiveQueue::post_recv(const RecvWr& wr) {
  if (impl_->queue.size() == 0) impl_->imminent.note_imminent();
  if (const auto error = impl_->queue.post(wr)) return error;
  impl_->waiters.tell();
  return {};
}

// [IBV-358, IBV-360]
std::error_code SharedReceiveQueue::arm_limit(std::size_t limit) {
  if (limit > limits_.max_wr) return make_error_code(Errc::kInvalidArgument);
  impl_->armed_limit.store(limit);
  return {};
}

std::size_t SharedReceiveQueue::armed_limit() const { return impl_->armed_limit.load(); }
std::size_t SharedReceiveQueue::size() const { return impl_->queue.size(); }

// [IBV-356, IBV-357]
ReceiveFound SharedReceiveQueuePort::take_for(SharedReceiveQueue& srq, std::size_t length,
                                              PostedReceive& out) {
  auto& impl = *srq.impl_;
  const auto found = impl.queue.take_for(length, out);
  const auto limit = impl.armed_limit.load();
  if (limit != 0 && impl.queue.size() < limit) {
    auto expected = limit;
    const bool is_first = impl.armed_limit.compare_exchange_strong(expected, 0);
    if (is_first && impl.limit_reached) impl.limit_reached(srq);
  }
  return found;
}

bool SharedReceiveQueuePort::take_or_await(SharedReceiveQueue& srq,
                                           const std::weak_ptr<Waiter>& driver,
                                           PostedReceive& out) {
  await(srq, driver);
  return take(srq, out);
}

void SharedReceiveQueuePort::await(SharedReceiveQueue& srq, const std::weak_ptr<Waiter>& driver) {
  srq.impl_->waiters.add(driver);
}
void SharedReceiveQueuePort::await_imminent(SharedReceiveQueue& srq,
                                            const std::weak_ptr<Waiter>& driver) {
  srq.impl_->imminent.add(driver);
}
std::vector<PostedReceive> SharedReceiveQueuePort::withdraw(SharedReceiveQueue& srq) {
  return srq.impl_->queue.withdraw();
}
void SharedReceiveQueuePort::attach(SharedReceiveQueue& srq) { srq.impl_->attached.fetch_add(1); }
void SharedReceiveQueuePort::detach(SharedReceiveQueue& srq) { srq.impl_->attached.fetch_sub(1); }
std::uint32_t SharedReceiveQueuePort::attached(const SharedReceiveQueue& srq) {
  return srq.impl_->attached.load();
}

}  // namespace iwarp::verbs
