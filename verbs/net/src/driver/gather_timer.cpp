// SPDX-License-Identifier: Apache-2.0
#include "driver/gather_timer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "driver/driven_connection.hpp"

namespace iwarp::net {
namespace {

// After this number of ticks without a held-back post, a connection is removed from the timer. An
// earlier removal would not pay: an application whose posts were held back will soon post in the
// same way again.
constexpr unsigned kIdleLooks = 40;
// The longest interval between two ticks. It limits the delay of posts if a connection is added
// between two ticks.
constexpr auto kLongestPause = std::chrono::microseconds(50);

}  // namespace

void GatherTimer::add(std::shared_ptr<DrivenConnection> connection) {
  const std::lock_guard lock(mutex_);
  insist([&] { entries_.push_back({.connection = connection}); });
  if (std::exchange(running_, true)) return;
  worker_.post([this] { tick(); });
}

// Runs on the worker thread.
void GatherTimer::tick() {
  std::list<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries.swap(entries_);
  }
  const auto now = Clock::now();
  auto next = Clock::time_point::max();
  std::erase_if(entries, [now, &next](Entry& entry) {
    DrivenConnection& connection = *entry.connection;
    if (connection.ended()) return true;  // The posts that it holds back will not be sent.
    entry.idle = connection.flush_late_posts(now) ? 0 : entry.idle + 1;
    if (entry.idle >= kIdleLooks && connection.leave_gather_timer()) return true;
    // A post that is held back after this tick must not wait longer than longest() either.
    const auto& gathered = connection.gathered();
    next = std::min(next, gathered.any() ? gathered.due() : now + gathered.longest());
    return false;
  });
  const std::lock_guard lock(mutex_);
  entries_.splice(entries_.end(), entries);
  running_ = !entries_.empty();
  if (!running_) return;
  timer_.expires_at(std::min(next, now + kLongestPause));
  insist([this] {
    timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) tick();
    });
  });
}

}  // namespace iwarp::net
