// SPDX-License-Identifier: Apache-2.0
// The functions of class Ledger for completion queues. They check how many completions each queue
// may still get, and whether the program polls a queue after an event.
#include <fmt/format.h>

#include <algorithm>

#include "careful/ledger.hpp"

namespace iwarp::rdma_core::careful {

void Ledger::made_cq(const void* cq, const void* channel, std::size_t capacity) {
  queues_[cq] = {.channel = channel, .capacity = capacity};
}

void Ledger::polls(const void* cq) { queues_[cq].is_armed = false; }

void Ledger::arms(const void* cq) {
  Queue& queue = queues_[cq];
  queue.is_armed = queue.had_event;
}

void Ledger::took_event(const void* cq) {
  queues_[cq].had_event = true;
  queues_[cq].is_armed = false;
}

void Ledger::sleeps(const void* channel, Site site) {
  for (auto& [cq, queue] : queues_) {
    if (queue.channel != channel || !queue.is_armed) continue;
    queue.is_armed = false;
    report(Check::kArmedNotPolled, site, nullptr,
           "a queue was armed and not polled since: what came before is not told");
  }
}

void Ledger::gone_cq(const void* cq, std::uint32_t unacknowledged, Site site) {
  queues_.erase(cq);
  if (unacknowledged == 0) return;
  report(
      Check::kEventsNotAcknowledged, site, nullptr,
      fmt::format("a queue is destroyed with {} events not acknowledged: the call waits for that",
                  unacknowledged));
}

void Ledger::owe(const void* cq, Site site) {
  Queue& queue = queues_[cq];
  if (++queue.owed <= queue.capacity || queue.is_told) return;
  queue.is_told = true;
  report(Check::kCqOverflow, site, nullptr,
         fmt::format("{} completions may come to a queue that has room for {}", queue.owed,
                     queue.capacity));
}

void Ledger::settle(const void* cq, std::size_t count) {
  const auto it = queues_.find(cq);
  if (it != queues_.end()) it->second.owed -= std::min(it->second.owed, count);
}

}  // namespace iwarp::rdma_core::careful
