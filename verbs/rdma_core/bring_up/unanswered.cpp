// SPDX-License-Identifier: Apache-2.0
// Checks periodically whether requests are waiting, so that posting a request needs no extra work.
// The time between two checks of a queue pair is the time limit of its requests. If the queue pair
// has requests at two consecutive checks, the requests fail. By then they have waited for more than
// one such interval and less than two.
#include "bring_up/unanswered.hpp"

#include <algorithm>
#include <vector>

#include "bring_up/out_of_band.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "process/core.hpp"
#include "qp/peer_timeouts.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

// The minimum time for which requests wait for a peer that has not connected yet. It is long
// because the answer comes from a thread of the peer's program and not from an adapter, and that
// thread may have to wait for a processor.
constexpr auto kLeast = 2s;
// The maximum time for which requests wait after the peer has disconnected. A longer wait, even one
// without a limit (`timeout` 0), would be useless, because the peer does not connect again.
constexpr auto kMost = 2s;
// While the peer of a queue pair cannot be reached, the time between two checks whether the queue
// pair has requests.
constexpr auto kBetweenLooks = 100ms;

/// Returns the time of the next check: `now` plus `limit`. The time is rounded up, so that several
/// queue pairs are checked at one wake-up.
std::chrono::steady_clock::time_point next_look(std::chrono::steady_clock::time_point now,
                                                std::chrono::steady_clock::duration limit) {
  const auto since = (now + limit).time_since_epoch();
  return std::chrono::steady_clock::time_point((since / kBetweenLooks + 1) * kBetweenLooks);
}

}  // namespace

Unanswered::Unanswered(Core& core, OutOfBand& bring_up, const Settings& settings)
    : core_(core),
      bring_up_(bring_up),
      requests_wait_(settings.persona == Persona::kRoce ||
                     settings.connection.completions == verbs::Completions::kAcknowledged) {}

void Unanswered::await(verbs::QpNum num, std::chrono::nanoseconds limit) {
  if (!requests_wait_) return;
  const std::lock_guard lock(mutex_);
  Wait& wait = waits_[num];
  wait.step(WaitEvent::kToRts);
  const bool fails = wait.state == WaitState::kFails;
  wait.limit = fails ? kBetweenLooks : std::max<Clock::duration>(limit, kLeast);
  wait.has_requests = false;
  const bool is_limited = limit != 0ns || fails;
  wait.due = is_limited ? Clock::now() + wait.limit : Clock::time_point::max();
  core_.recheck();
}

bool Unanswered::peer_unreachable(verbs::QpNum num, const std::string& why) {
  if (!requests_wait_) return false;
  const std::lock_guard lock(mutex_);
  Wait& wait = waits_[num];
  wait.step(WaitEvent::kUnreachable);
  wait.why = why;
  wait.limit = kBetweenLooks;
  if (wait.state == WaitState::kFails) wait.due = Clock::now();
  return true;
}

bool Unanswered::peer_left(RcQp& qp) {
  if (!requests_wait_) return false;
  std::chrono::nanoseconds limit{};
  {
    const std::lock_guard lock(qp.mutex);
    limit = peer_timeouts(qp.attributes, qp.said).answer;
  }
  // The limit is 0 with `timeout` 0, and before the step to RTS, which sets `timeout`.
  if (limit == 0ns) limit = kMost;
  Wait wait{.limit = std::clamp<Clock::duration>(limit, kBetweenLooks, kMost)};
  wait.step(WaitEvent::kLeave);
  wait.has_requests = verbs::QueuePairPort::holds_requests(*qp.core);
  wait.due = next_look(Clock::now(), wait.limit);
  const std::lock_guard lock(mutex_);
  waits_[qp.core->num()] = std::move(wait);
  return true;
}

void Unanswered::forget(verbs::QpNum num) {
  const std::lock_guard lock(mutex_);
  waits_.erase(num);
}

Unanswered::Clock::time_point Unanswered::check() {
  look_at_due(Clock::now());
  auto next = Clock::time_point::max();
  const std::lock_guard lock(mutex_);
  for (const auto& [num, wait] : waits_) next = std::min(next, wait.due);
  return next;
}

void Unanswered::look_at_due(Clock::time_point now) {
  std::vector<std::pair<verbs::QpNum, Wait>> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [num, wait] : waits_) {
      if (wait.due <= now) due.emplace_back(num, wait);
    }
  }
  for (auto& [num, wait] : due) {
    const auto was_due = wait.due;
    bool goes_on = false;
    core_.with_qp(num, [&](RcQp& qp) { goes_on = look_at(qp, wait, now); });
    const std::lock_guard lock(mutex_);
    const auto it = waits_.find(num);
    // Skips the queue pair if it has begun a new wait in the meantime.
    if (it == waits_.end() || it->second.due != was_due) continue;
    if (goes_on) {
      it->second = std::move(wait);
    } else {
      waits_.erase(it);
    }
  }
}

bool Unanswered::look_at(RcQp& qp, Wait& wait, Clock::time_point now) {
  const bool has_left = wait.state == WaitState::kLeft;
  {
    const std::lock_guard lock(qp.mutex);
    const bool begins = qp.link == LinkState::kAwaited && qp.state.load() == IBV_QPS_RTS;
    if (!has_left && !begins) return false;
  }
  const bool had_requests = wait.has_requests;
  wait.has_requests = has_left ? verbs::QueuePairPort::holds_requests(*qp.core)
                               : qp.sender().query().send_outstanding != 0;
  wait.due = next_look(now, wait.limit);
  if (!wait.has_requests || !(had_requests || wait.state == WaitState::kFails)) return true;
  if (has_left) {
    qp_retry_exceeded(qp);
  } else {
    bring_up_.peer_never_connected(qp, wait.why);
  }
  return false;
}

}  // namespace iwarp::rdma_core
