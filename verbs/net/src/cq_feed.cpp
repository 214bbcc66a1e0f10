// SPDX-License-Identifier: Apache-2.0
// When a poll drives connections, and when it may keep the workers asleep.
#include "cq_feed.hpp"

#include <algorithm>

#include "driven_connection.hpp"

namespace iwarp::net {
namespace {

// A poll looks at each connection, one system call each; with more the workers are cheaper.
constexpr std::size_t kMostPolled = 8;
// So many empty polls within the window mean a consumer that waits by polling.
constexpr unsigned kOften = 16;
constexpr unsigned kPollsPerLook = 8;
constexpr auto kWindow = std::chrono::microseconds(200);
// Once quiet: a pause of this length ends it, at the next look. The two together bound how long a
// peer waits for us then.
constexpr auto kPause = std::chrono::microseconds(500);
// Before it sleeps on the sockets a consumer makes sure that the queue is empty, arms it, and looks
// once more. The sockets themselves can wait for the sleep.
constexpr unsigned kSparePolls = 2;
// The looks themselves take time from who polls, so they become rare while the polling goes on.
constexpr auto kFirstInterval = std::chrono::milliseconds(1);
constexpr auto kLastInterval = std::chrono::milliseconds(4);

}  // namespace

void CqFeed::make_progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Another thread polls this queue, and drives.
  if (!lock || connections_.empty() || connections_.size() > kMostPolled) return;
  if (spare_polls_ != 0) {
    --spare_polls_;
    return;
  }
  // Who polls all the time does not need the time all the time.
  const bool quiet = (quiet_ && ++polls_ % kPollsPerLook != 0 && !armed_) || polled_often();
  bool any_ended = false;
  for (const auto& connection : connections_) {
    connection->poll(quiet);
    any_ended |= connection->ended();
  }
  if (any_ended) forget_ended();
  if (quiet && !quiet_) begin_quiet();
}

bool CqFeed::polled_often() {
  const auto now = Clock::now();
  last_poll_ = now;
  if (armed_.load(std::memory_order_relaxed)) return false;
  if (now - window_ > kWindow) {
    // A poll that finds much to do takes longer than the window.
    polls_ = quiet_ ? kOften : 0;
    window_ = now;
  }
  return ++polls_ >= kOften;
}

void CqFeed::armed() {
  armed_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (quiet_ && !attended_) wake_all();
}

bool CqFeed::attend(std::vector<std::shared_ptr<DrivenConnection>>& out) {
  const std::lock_guard lock(mutex_);
  forget_ended();
  if (connections_.size() + out.size() > kMostPolled) return false;
  for (const auto& connection : connections_) {
    if (!connection->is_plain()) return false;
  }
  for (const auto& connection : connections_) connection->make_quiet();
  out.insert(out.end(), connections_.begin(), connections_.end());
  attended_ = sleeping_ = true;
  spare_polls_ = kSparePolls;
  if (!quiet_) begin_quiet();
  return true;
}

void CqFeed::woken() {
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
  last_poll_ = Clock::now();
}

void CqFeed::give_up() {
  const std::lock_guard lock(mutex_);
  if (quiet_) wake_all();
}

void CqFeed::add(std::shared_ptr<DrivenConnection> connection) {
  const std::lock_guard lock(mutex_);
  forget_ended();
  connections_.push_back(std::move(connection));
  if (quiet_ && connections_.size() > kMostPolled) wake_all();
}

void CqFeed::stop() {
  const std::lock_guard lock(mutex_);
  wake_all();
  connections_.clear();
  timer_.cancel();
}

void CqFeed::begin_quiet() {
  quiet_ = true;
  interval_ = kFirstInterval;
  watch();
}

void CqFeed::watch() {
  timer_.expires_after(interval_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->tick();
  });
}

void CqFeed::tick() {
  const std::lock_guard lock(mutex_);
  if (!quiet_) return;
  if (!sleeping_ && Clock::now() - last_poll_ > kPause) {
    wake_all();
  } else {
    interval_ = std::min<Clock::duration>(2 * interval_, kLastInterval);
    watch();
  }
}

void CqFeed::wake_all() {
  quiet_ = attended_ = sleeping_ = false;
  polls_ = spare_polls_ = 0;
  for (const auto& connection : connections_) connection->wake();
}

void CqFeed::forget_ended() {
  std::erase_if(connections_, [](const auto& connection) { return connection->ended(); });
}

}  // namespace iwarp::net
