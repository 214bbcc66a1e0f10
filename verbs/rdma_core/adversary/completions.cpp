// SPDX-License-Identifier: Apache-2.0
// Completions: the polls that find nothing, the order of completions of different queue pairs, and
// the thread that causes events late.
#include "adversary/completions.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "adversary/hooks.hpp"
#include "iwarp/net/quiet_thread.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core::adversary {
namespace {

using options::Freedom;

constexpr std::uint64_t kMostHiddenPolls = 64;
constexpr std::chrono::microseconds kLatestEvent{3000};
constexpr std::chrono::microseconds kLongestPoll{500};

/// The queue of a queue pair to which a completion belongs. Completions of one queue keep their
/// order.
std::pair<std::uint32_t, bool> source(const ibv_wc& wc) {
  return {wc.qp_num, (wc.opcode & IBV_WC_RECV) != 0};
}

}  // namespace

Completions::Completions(const options::Adversary& choice) : choice_(choice) {
  net::quiet_thread([this] { run(); }).detach();
}

// Returns the number of completions that the queue has had. Call with the queue's mutex locked.
std::size_t Completions::count_arrived(const Queue& queue) {
  return queue.seen + queue.arrived.size() + queue.cq.core->size();
}

Completions::Queue* Completions::find(const Cq* cq) {
  const std::lock_guard lock(mutex_);
  const auto it = queues_.find(cq);
  return it != queues_.end() ? it->second.get() : nullptr;
}

Completions::Queue& Completions::of(Cq& cq) {
  if (Queue* const queue = find(&cq)) return *queue;
  const std::lock_guard lock(mutex_);
  return *queues_.emplace(&cq, std::make_unique<Queue>(choice_.first, cq)).first->second;
}

// Call with the queue's mutex locked.
void Completions::look_for_event(Queue& queue) {
  if (!queue.is_armed || verbs::CompletionQueuePort::is_armed(*queue.cq.core)) return;
  queue.is_armed = false;
  const auto cause = queue.awaits_solicited ? count_arrived(queue) : queue.before_arming + 1;
  // Completions that were fetched ahead may take the place of the cause.
  queue.visible = std::max({queue.visible, cause, queue.seen + queue.arrived.size()});
}

// Returns whether a poll finds nothing, whatever has arrived. It drives the connections all the
// same. The first such poll takes long, so that the program looks at its memory later. `lock` owns
// the queue's mutex, and does so on return if the result is false.
bool Completions::hides(Queue& queue, std::unique_lock<std::mutex>& lock) const {
  look_for_event(queue);
  if (queue.seen < queue.visible || !choice_.has(Freedom::kLate)) return false;
  if (queue.hidden_polls != 0) {
    if (queue.cq.context.alive()) (void)queue.cq.core->poll({});
    return --queue.hidden_polls != 0;
  }
  if (!queue.dice.one_in(3)) return false;
  queue.hidden_polls = 1 + queue.dice.below(kMostHiddenPolls >> queue.dice.below(6));
  note("completion queue {} hides its completions from {} polls", queue.cq.abi.handle,
       queue.hidden_polls);
  const std::chrono::microseconds pause(queue.dice.below(kLongestPoll.count()));
  lock.unlock();
  std::this_thread::sleep_for(pause);
  return true;
}

void Completions::fetch(Queue& queue, Hooks& behind, int count) const {
  std::vector<ibv_wc> found(static_cast<std::size_t>(count));
  // Reserves the memory first, because the queue of the library will not have these completions.
  queue.arrived.reserve(queue.arrived.size() + found.size());
  const int got = behind.poll_cq(queue.cq.handle(), count, found.data());
  if (got <= 0) return;
  queue.arrived.insert(queue.arrived.end(), found.begin(), found.begin() + got);
}

// Removes and returns the oldest completion of any queue of a queue pair.
ibv_wc Completions::take_one(Queue& queue) const {
  auto& arrived = queue.arrived;
  auto chosen = arrived.begin();
  if (choice_.has(Freedom::kOrder) && arrived.size() > 1) {
    const auto any =
        arrived.begin() + static_cast<std::ptrdiff_t>(queue.dice.below(arrived.size()));
    chosen = std::ranges::find(arrived, source(*any), source);
    if (chosen != arrived.begin()) {
      note("the completion with wr_id {} of queue pair {} overtakes a completion of queue pair {}",
           chosen->wr_id, chosen->qp_num, arrived.front().qp_num);
    }
  }
  const ibv_wc out = *chosen;
  arrived.erase(chosen);
  return out;
}

int Completions::poll(Hooks& behind, ibv_cq* cq, int count, ibv_wc* wc) {
  if (count <= 0) return behind.poll_cq(cq, count, wc);
  Queue& queue = of(Cq::of(cq));
  std::unique_lock lock(queue.mutex);
  if (hides(queue, lock)) return 0;
  auto wanted = static_cast<std::size_t>(count);
  const bool is_late = choice_.has(Freedom::kLate);
  const auto owed = std::max(queue.seen, queue.visible) - queue.seen;
  const bool is_owed = is_late && owed != 0;
  if (is_late) wanted = is_owed ? std::min(wanted, owed) : 1 + queue.dice.below(wanted);
  // Completions that come together may change places. The library frees the slot of a request when
  // its completion is fetched, so do not fetch many that the program does not get.
  const bool fetches_ahead = choice_.has(Freedom::kOrder) && !queue.is_extended;
  auto some = fetches_ahead ? std::max<std::size_t>(wanted, 4) : wanted;
  if (is_owed) some = std::min(some, owed);
  if (queue.arrived.size() < some) {
    fetch(queue, behind, static_cast<int>(some - queue.arrived.size()));
  }
  std::size_t got = 0;
  while (got < wanted && !queue.arrived.empty()) wc[got++] = take_one(queue);
  queue.seen += got;
  if (got == 0) queue.visible = queue.seen;
  return static_cast<int>(got);
}

int Completions::start_poll(Hooks& behind, ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  Queue& queue = of(Cq::of(cq));
  const bool is_valid = attr == nullptr || attr->comp_mask == 0;
  if (is_valid) {
    std::unique_lock lock(queue.mutex);
    if (hides(queue, lock)) return ENOENT;
  }
  const int code = behind.start_poll(cq, attr);
  if (is_valid) count_one(queue, code);
  return code;
}

int Completions::next_poll(Hooks& behind, ibv_cq_ex* cq) {
  const int code = behind.next_poll(cq);
  count_one(of(Cq::of(cq)), code);
  return code;
}

// Counts a poll that returned `code`, and one completion if that is 0.
void Completions::count_one(Queue& queue, int code) {
  const std::lock_guard lock(queue.mutex);
  if (code == 0) ++queue.seen;
  if (code == ENOENT) queue.visible = queue.seen;
}

// Sometimes arms the queue of the library only later. The event is then late, and may come when the
// program has already polled the completion that caused it. Polls by ibv_start_poll() are not
// counted in the same step, so their queues are armed at once.
int Completions::arm(Hooks& behind, ibv_cq* cq, int solicited_only) {
  Queue& queue = of(Cq::of(cq));
  {
    const std::lock_guard lock(queue.mutex);
    const auto arrived = count_arrived(queue);
    queue.hidden_polls = 0;
    queue.visible = arrived;
    // If the program arms the queue twice, it gets one event.
    if (queue.fires_at != Clock::time_point::max()) return 0;
    queue.before_arming = arrived;
    const bool was_armed = verbs::CompletionQueuePort::is_armed(*queue.cq.core);
    if (solicited_only != 0 || !was_armed) queue.awaits_solicited = solicited_only != 0;
    const bool can_be_late = !queue.awaits_solicited && !was_armed && !queue.is_extended &&
                             cq->channel != nullptr && choice_.has(Freedom::kEvents);
    if (!can_be_late || queue.dice.one_in(2)) {
      queue.is_armed = true;
      const int code = behind.req_notify_cq(cq, solicited_only);
      // A completion that arrived in the meantime may have been too early to cause an event.
      queue.visible = queue.before_arming = count_arrived(queue);
      return code;
    }
    queue.fires_at = Clock::now() + queue.dice.up_to(kLatestEvent);
  }
  {
    const std::lock_guard lock(mutex_);
    is_due_ = true;
  }
  changed_.notify_one();
  return 0;
}

// Arms the queue of the library. Causes the event at once if completions have arrived since the
// program armed the queue, or if `has_cause`. Call with the queue's mutex locked.
void Completions::fire(Queue& queue, bool has_cause) {
  queue.fires_at = Clock::time_point::max();
  queue.is_armed = true;
  verbs::CompletionQueue& core = *queue.cq.core;
  core.arm(verbs::Notify::kNext);
  if (!has_cause && count_arrived(queue) == queue.before_arming) return;
  verbs::CompletionQueuePort::call_consumer(core);
  note("completion queue {} delays its completion event", queue.cq.abi.handle);
}

void Completions::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    is_due_ = false;
    auto next = Clock::now() + std::chrono::hours(1);
    for (const auto& [cq, queue] : queues_) {
      const std::lock_guard its(queue->mutex);
      if (queue->fires_at <= Clock::now()) fire(*queue, false);
      next = std::min(next, queue->fires_at);
    }
    changed_.wait_until(lock, next, [this] { return is_due_; });
  }
}

void Completions::made_extended(Cq& cq) {
  Queue& queue = of(cq);
  const std::lock_guard lock(queue.mutex);
  queue.is_extended = true;
}

void Completions::destroying(Cq& cq) {
  const std::lock_guard lock(mutex_);
  queues_.erase(&cq);
}

void Completions::hurry() {
  const std::lock_guard lock(mutex_);
  for (const auto& [cq, queue] : queues_) {
    const std::lock_guard its(queue->mutex);
    if (queue->fires_at != Clock::time_point::max()) fire(*queue, false);
  }
}

void Completions::drop_failed(Qp& qp) {
  for (const Cq* const cq : {qp.send_cq, qp.recv_cq}) {
    Queue* const queue = find(cq);
    if (queue == nullptr) continue;
    const std::lock_guard lock(queue->mutex);
    // Another thread may have armed the queue since hurry(), and the library may have discarded
    // completions, too. Their number is not known, so assume that there is a cause.
    if (queue->fires_at != Clock::time_point::max()) fire(*queue, true);
    std::erase_if(queue->arrived, [&qp](const ibv_wc& wc) {
      return wc.qp_num == qp.num() && wc.status != IBV_WC_SUCCESS;
    });
  }
}

}  // namespace iwarp::rdma_core::adversary
