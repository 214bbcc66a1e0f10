// SPDX-License-Identifier: Apache-2.0
// Limits how long a client may be idle. Before the client's first message the limit is short.
// Afterwards it is longer, because the client's disk or network may be slow.
#include "common/serving/client_slot.hpp"

namespace iwarp::apps {

namespace {

using namespace std::chrono_literals;

// How long a client must be idle before it may be evicted: kSilentFor until its first message, and
// kIdleFor afterwards.
constexpr auto kSilentFor = 100ms;
constexpr auto kIdleFor = 5s;

}  // namespace

ClientSlot::Use::Use(ClientSlot& slot, verbs::QueuePair& qp) : slot_(slot) {
  const std::lock_guard lock(slot_.mutex_);
  slot_.qp_ = &qp;
  slot_.last_ = Clock::now();
}

ClientSlot::Use::~Use() {
  const std::lock_guard lock(slot_.mutex_);
  slot_.qp_ = nullptr;
}

void ClientSlot::progressed() {
  const std::lock_guard lock(mutex_);
  has_spoken_ = true;
  last_ = Clock::now();
}

ClientSlot::Clock::time_point ClientSlot::idle_since(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const Clock::duration enough = has_spoken_ ? Clock::duration(kIdleFor) : kSilentFor;
  return qp_ != nullptr && now - last_ >= enough ? last_ : Clock::time_point::max();
}

void ClientSlot::give_way() {
  const std::lock_guard lock(mutex_);
  if (qp_ != nullptr) (void)qp_->abort();
}

}  // namespace iwarp::apps
