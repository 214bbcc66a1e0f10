// SPDX-License-Identifier: Apache-2.0
// The functions of class Ledger for completion queues. They check how many completions each queue
// may still get, and whether the program polls a queue after an event.
#include <algorithm>

#include "careful/ledger.hpp"

namespace iwarp::rdma_core::careful {

void Ledger::made_cq(const void* cq, const void* channel, std::size_t capacity) {
  queues_[cq] = {.channel = channel, .capacity = capacity};
}

void Ledger::polls(const void* cq, std::size_t got, std::size_t wanted) {
  Queue& queue = queues_[cq];
  queue.is_armed = false;
  queue.left = got < wanted ? 0 : queue.left - std::min(queue.left, got);
  queue.poller = std::this_thread::get_id();
}

void Ledger::arms(const void* cq, bool has_event) {
  Queue& queue = queues_[cq];
  queue.is_armed = queue.had_event && !has_event;
  queue.left = waiting_(cq);
  queue.poller = {};
}

void Ledger::took_event(const void* cq) {
  queues_[cq].had_event = true;
  queues_[cq].is_armed = false;
}

void Ledger::sleeps(const void* channel, bool blocks, Site site) {
  for (auto& [cq, queue] : queues_) {
    if (queue.channel != channel) continue;
    if (blocks) report_departed(cq, queue, site);
    if (!queue.is_armed) continue;
    queue.is_armed = false;
    report(check::kArmedNotPolled, site, nullptr,
           "a completion queue has not been polled since it was armed: a completion that arrived "
           "before ibv_req_notify_cq() causes no event (poll until the queue is empty)");
  }
}

void Ledger::waits(const std::function<bool(const void* channel)>& is_awaited, Site site) {
  for (auto& [cq, queue] : queues_) {
    if (queue.left != 0 && queue.channel != nullptr && is_awaited(queue.channel)) {
      report_departed(cq, queue, site);
    }
  }
}

bool Ledger::has_left() const {
  return std::ranges::any_of(queues_, [](const auto& entry) { return entry.second.left != 0; });
}

// Reports only a thread that has itself polled some of the completions. If one thread waits for
// events and another polls, the first may sleep before the queue is empty.
void Ledger::report_departed(const void* cq, Queue& queue, Site site) {
  queue.left = std::min(queue.left, waiting_(cq));
  if (queue.left == 0 || queue.poller != std::this_thread::get_id()) return;
  report(check::kQueueNotEmptied, site, nullptr,
         "{} completion{} that arrived before the queue was armed {} not polled, and will cause no "
         "event: the program may sleep forever (after ibv_req_notify_cq(), poll until the queue is "
         "empty)",
         queue.left, queue.left == 1 ? "" : "s", queue.left == 1 ? "was" : "were");
  queue.left = 0;
}

void Ledger::destroyed_cq(const void* cq, std::uint32_t unacknowledged, Site site) {
  queues_.erase(cq);
  if (unacknowledged == 0) return;
  report(check::kEventsNotAcknowledged, site, nullptr,
         "a completion queue is destroyed with {} unacknowledged event{}: ibv_destroy_cq() waits "
         "until all events are acknowledged (call ibv_ack_cq_events() first)",
         unacknowledged, unacknowledged == 1 ? "" : "s");
}

void Ledger::owe(const void* cq, Site site) {
  Queue& queue = queues_[cq];
  if (++queue.owed <= queue.capacity || queue.is_reported) return;
  queue.is_reported = true;
  report(check::kCqOverflow, site, nullptr,
         "up to {} completions may be added to a completion queue with a capacity of {} (create "
         "the queue with an entry for each outstanding request and receive)",
         queue.owed, queue.capacity);
}

void Ledger::settle(const void* cq, std::size_t count) {
  const auto it = queues_.find(cq);
  if (it != queues_.end()) it->second.owed -= std::min(it->second.owed, count);
}

}  // namespace iwarp::rdma_core::careful
