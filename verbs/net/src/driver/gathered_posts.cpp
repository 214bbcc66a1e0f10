// SPDX-License-Identifier: Apache-2.0
// GatherTimer: the interval between two ticks of a worker's timer, when a connection is removed
// from the timer, and how many connections must post large messages before posts are held back.
#include "driver/gathered_posts.hpp"

#include <algorithm>
#include <utility>

#include "driver/driven_connection.hpp"

namespace iwarp::net {
namespace {

// After this number of ticks without a held-back post, a connection is removed from the timer. An
// earlier removal would only cost time: an application whose posts were held back will soon post in
// the same way again.
constexpr unsigned kIdleLooks = 8;
// The first and the longest interval between two ticks. Most applications poll soon after they
// post, and that poll sends the posts. While an application does so, the interval grows, because
// each tick takes processor time from the application. A tick that has to send a post shortens the
// interval again, so at most one post waits for the longest interval.
constexpr auto kFirstPause = std::chrono::microseconds(50);
constexpr auto kLongestPause = std::chrono::milliseconds(1);

// Number of large posts of a worker in which connections are counted, and the number of connections
// whose posts are worth holding back.
constexpr std::uint32_t kCounted = 128;
constexpr std::uint32_t kFewPosters = 4;

}  // namespace

bool GatherTimer::counts_large(std::atomic<std::uint32_t>& seen) {
  const auto number = large_posts_.fetch_add(1, std::memory_order_relaxed);
  const auto window = number / kCounted + 1;
  if (seen.exchange(window, std::memory_order_relaxed) != window) posters_.fetch_add(1);
  if (number % kCounted == kCounted - 1) is_spread_ = posters_.exchange(0) > kFewPosters;
  return is_spread_.load(std::memory_order_relaxed);
}

void GatherTimer::add(std::shared_ptr<DrivenConnection> connection) {
  const std::lock_guard lock(mutex_);
  insist([&] { entries_.push_back({.connection = connection}); });
  if (std::exchange(is_running_, true)) return;
  pause_ = {};
  worker_.post([this] { tick(); });
}

// Runs on the worker thread.
void GatherTimer::tick() {
  std::list<Entry> entries;
  Clock::duration pause{};
  {
    const std::lock_guard lock(mutex_);
    entries.swap(entries_);
    pause = 2 * pause_;
  }
  const auto now = Clock::now();
  bool any_late = false;
  Clock::duration shortest = kFirstPause;
  std::erase_if(entries, [&](Entry& entry) {
    DrivenConnection& connection = *entry.connection;
    // The connection has ended, so its held-back posts will not be sent.
    if (connection.ended()) return true;
    const auto held = connection.flush_late_posts(now);
    any_late |= held == DrivenConnection::HeldPosts::kLate;
    entry.idle = held == DrivenConnection::HeldPosts::kNone ? entry.idle + 1 : 0;
    if (entry.idle >= kIdleLooks && connection.leave_gather_timer()) return true;
    shortest = std::min(shortest, connection.gathered().longest());
    return false;
  });
  pause = any_late ? shortest : std::clamp<Clock::duration>(pause, shortest, kLongestPause);
  const std::lock_guard lock(mutex_);
  pause_ = pause;
  entries_.splice(entries_.end(), entries);
  is_running_ = !entries_.empty();
  if (!is_running_) return;
  timer_.expires_at(now + pause);
  insist([this] {
    timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) tick();
    });
  });
}

}  // namespace iwarp::net
