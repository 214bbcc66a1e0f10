// SPDX-License-Identifier: Apache-2.0
// SendQueue: finds the requests in flight that use memory which is revoked, invalidated or gone,
// and fails the one whose message cannot be completed.
#include <algorithm>

#include "queue_pair/send_queue.hpp"

namespace iwarp::verbs {

bool SendQueue::awaits_answer_into(Stag stag) const {
  if (!awaits_answer()) return false;
  const auto is_there = [stag](const Grant& grant) {
    return grant.region() != nullptr && grant.region()->stag.load() == stag.value;
  };
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    const SendSlot& slot = ring_.slot(s);
    if (slot.is_answered() && std::any_of(slot.grants.begin(), slot.grants.end(), is_there)) {
      return true;
    }
  }
  return false;
}

bool SendQueue::revoke(const Region& region, bool mid_message) {
  const auto names = [&region](const Grant& grant) { return grant.region() == &region; };
  bool needed = false;
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    SendSlot& slot = ring_.slot(s);
    if (std::none_of(slot.grants.begin(), slot.grants.end(), names)) continue;
    const bool send_due = slot.opcode == WrOpcode::kSendImmediate && more_due_ == s;
    const bool unfinished = slot.is_answered() || send_due || (mid_message && s + 1 == started_);
    // fail only one request [VRB-14]
    if (unfinished && !needed) fail_now(slot, WcStatus::kLocalProtection);
    needed |= unfinished;
    slot.release_grants();
  }
  return needed;
}

void SendQueue::memory_gone(const std::byte* address) {
  const auto has_it = [address](const Grant& grant) { return grant.has(address); };
  for (auto s = ring_.retired.load(); s < started_; ++s) {
    SendSlot& slot = ring_.slot(s);
    if (slot.stage != SendSlot::Stage::kStarted) continue;
    if (std::none_of(slot.grants.begin(), slot.grants.end(), has_it)) continue;
    return fail_now(slot, WcStatus::kLocalProtection);
  }
}

}  // namespace iwarp::verbs
