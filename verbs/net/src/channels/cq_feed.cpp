// SPDX-License-Identifier: Apache-2.0
// CqFeed: decides when a poll drives connections, and when polls are frequent enough that the
// workers can sleep.
#include "channels/cq_feed.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "driver/driven.hpp"

namespace iwarp::net {
namespace {

// An infrequent poll makes one system call for each connection. If the queue has more connections
// than this, an infrequent poll drives none of them, because the workers drive them at lower cost.
constexpr std::size_t kMostPolled = 8;
// This number of polls within kWindow means that the application waits by polling. The window is
// long because the application may post large messages between two polls, and because placing large
// messages makes a poll long.
constexpr unsigned kOften = 16;
constexpr unsigned kPollsPerLook = 8;
constexpr auto kWindow = std::chrono::milliseconds(2);
// If the application has not polled for this time, nor since the previous tick of the timer, the
// next tick gives the connections back to the workers. So the interval between ticks limits how
// long the peer waits for an answer when the application has stopped polling.
constexpr auto kPause = std::chrono::microseconds(500);
// If a thread has slept on the sockets for longer than this, the workers take over. Its wake-ups
// are then so rare that waking it through a worker costs little.
constexpr auto kLongSleep = std::chrono::milliseconds(10);
// After a thread has woken up, this number of polls does not drive the sockets. An application
// polls until the queue is empty, arms it, and polls once more before it sleeps. The last two of
// these polls need no system calls, because new input wakes the application anyway.
constexpr unsigned kSparePolls = 2;
// First and last interval between two ticks of the timer. Ticks take time from the polling thread,
// so the interval grows while that thread keeps polling.
constexpr auto kFirstInterval = std::chrono::milliseconds(1);
constexpr auto kLastInterval = std::chrono::milliseconds(4);
// If the feed has fewer connections than this, each call of add() removes the ended connections.
constexpr std::size_t kFew = 16;

// Polls a connection. If polls are frequent, polls it only if Driven::asks_for() allows that. An
// infrequent poll may be the last one, so it polls the connection in any case. Returns whether the
// connection has ended.
inline bool poll_one(Driven& connection, const CqFeed& feed, bool frequent) {
  if (!frequent || connection.asks_for(&feed)) connection.poll(frequent);
  return connection.ended();
}

}  // namespace

void CqFeed::poll_all(bool frequent) {
  bool any_ended = false;
  for (const auto& connection : connections_) any_ended |= poll_one(*connection, *this, frequent);
  if (any_ended) forget_ended();
}

void CqFeed::make_progress() {
  // If the lock is taken, another thread is polling this queue and drives its connections.
  if (!mutex_.try_lock()) return;
  const std::lock_guard lock(mutex_, std::adopt_lock);
  if (connections_.empty()) return;
  if (verbs::CompletionQueuePort::take_waiting_posts(*queue_)) flush_posts();
  if (spare_polls_ != 0) {
    --spare_polls_;
    return;
  }
  // While the application polls continuously, only one in kPollsPerLook polls reads the clock.
  const bool polling = mode_.load(std::memory_order_relaxed) != DriveMode::kWorker;
  const bool look =
      ++polls_ % kPollsPerLook == 0 || !polling || verbs::CompletionQueuePort::is_armed(*queue_);
  const bool frequent = look ? polled_often() : true;
  if (frequent && !polling) begin(DriveCause::kPolled);
  if (connections_.size() == 1) {
    if (poll_one(*connections_.front(), *this, frequent)) forget_ended();
  } else if (frequent) {
    serve_all(look);
  } else if (connections_.size() <= kMostPolled) {
    poll_all(false);
  }
}

void CqFeed::serve_all(bool look) {
  // If no descriptor is available for the set, poll each connection, because the workers may be
  // asleep.
  if (!has_set()) return poll_all(true);
  serve_ready(false);
  if (!look) return;
  // Poll the connections that the set does not report. The stream of such a connection waits for a
  // posted receive or has ended, or the kernel has refused to add its socket.
  for (const auto& connection : connections_) {
    if (!connection->is_plain()) connection->poll(false);
  }
  forget_ended();
}

void CqFeed::flush_posts() {
  for (const auto& connection : connections_) connection->flush_posts();
}

bool CqFeed::polled_often() {
  const auto now = Clock::now();
  last_look_ = now;
  if (verbs::CompletionQueuePort::is_armed(*queue_)) return false;
  if (mode_.load(std::memory_order_relaxed) != DriveMode::kWorker) return true;
  if (now - window_ > kWindow) {
    polls_ = 1;
    window_ = now;
  }
  return polls_ >= kOften;
}

void CqFeed::armed() {
  const std::lock_guard lock(mutex_);
  if (verbs::CompletionQueuePort::take_waiting_posts(*queue_)) flush_posts();
  if (mode_.load(std::memory_order_relaxed) == DriveMode::kPoller) let_go();
}

bool CqFeed::begin_sleeping(SleepDescriptor& sleeper) {
  const std::lock_guard lock(mutex_);
  forget_ended();
  if (is_slept_on() && sleeper_ != &sleeper) let_go();
  if (is_slept_on() || connections_.empty() || !has_set()) return is_slept_on();
  const auto plain = [](const auto& connection) { return connection->is_plain(); };
  if (!std::ranges::all_of(connections_, plain)) return false;
  sleeper_ = &sleeper;
  expose(true);
  if (!sleeper.watch(*set_)) {
    expose(false);
    sleeper_ = nullptr;
    return false;
  }
  last_look_ = Clock::now();
  spare_polls_ = kSparePolls;
  begin(DriveCause::kSleptOn);
  return true;
}

// Calls Driven::expose() of the connections if `on`, otherwise Driven::conceal(). Call with true
// before `sleeper_` watches the sockets, and with false after it has stopped watching them.
void CqFeed::expose(bool on) {
  std::atomic<bool>* const owed = sleeper_->owed();
  if (owed == nullptr) return;
  if (on) set_->expose_to(owed);
  for (const auto& connection : connections_) on ? connection->expose() : connection->conceal();
  if (!on) set_->expose_to(nullptr);
}

void CqFeed::end_sleeping() {
  const std::lock_guard lock(mutex_);
  if (is_slept_on()) let_go();
}

bool CqFeed::serve() {
  const std::lock_guard lock(mutex_);
  if (!is_slept_on()) return false;
  last_look_ = Clock::now();
  spare_polls_ = kSparePolls;
  if (connections_.size() != 1 || connections_[0]->is_blocked()) return serve_ready(true);
  const bool came = connections_[0]->ready(true, false);
  if (connections_[0]->ended()) forget_ended();
  return came;
}

// Serves up to SocketSet::kMost ready sockets; the next call begins with the remaining ones.
// Returns whether any socket was ready.
bool CqFeed::serve_ready(bool slept) {
  std::array<SocketSet::Ready, SocketSet::kMost> storage;
  bool any_ended = false;
  const auto ready = set_->ready(storage);
  for (const auto& [connection, readable, room] : ready) {
    slept ? connection->ready(readable, room) : connection->polled(readable, room);
    any_ended |= connection->ended();
  }
  if (any_ended) forget_ended();
  return !ready.empty();
}

void CqFeed::add(std::shared_ptr<Driven> connection) {
  const std::lock_guard lock(mutex_);
  // The next check takes place when the number of connections has doubled, so that each connection
  // is checked only a few times in total.
  if (connections_.size() >= forget_at_ || connections_.size() < kFew) {
    forget_ended();
    forget_at_ = 2 * connections_.size();
  }
  if (connections_.size() == connections_.capacity()) {
    connections_.reserve(std::max(kFew, 2 * connections_.size()));
  }
  if (sleeper_ != nullptr && sleeper_->owed() != nullptr) connection->expose();
  if (set_ != nullptr) connection->join(set_);
  // Put the new connection into the mode of the feed.
  const DriveMode mode = mode_.load(std::memory_order_relaxed);
  if (mode == DriveMode::kPoller) connection->poll(true);
  if (mode == DriveMode::kSleeper) connection->sleep_on();
  connections_.push_back(std::move(connection));
}

void CqFeed::stop() {
  const std::lock_guard lock(mutex_);
  let_go();
  for (const auto& connection : connections_) connection->leave(set_.get());
  connections_.clear();
  timer_.cancel();
}

// Makes `set_` if there is none. Returns false if no descriptor or memory is available.
bool CqFeed::has_set() {
  if (set_ != nullptr) return true;
  try {
    set_ = std::make_shared<SocketSet>();
  } catch (const std::exception&) {
    return false;
  }
  for (const auto& connection : connections_) connection->join(set_);
  return true;
}

void CqFeed::begin(DriveCause cause) {
  const bool watched = bytes::advance(kDriveEdges, mode_, cause) != DriveMode::kWorker;
  for (const auto& connection : connections_) {
    cause == DriveCause::kSleptOn ? connection->sleep_on() : connection->poll(true);
  }
  interval_ = kFirstInterval;
  polls_seen_ = 0;
  was_unserved_ = false;
  if (!watched) watch();
}

void CqFeed::let_go() {
  if (bytes::advance(kDriveEdges, mode_, DriveCause::kLetGo) == DriveMode::kSleeper) {
    sleeper_->unwatch(*set_);
    expose(false);
    sleeper_ = nullptr;
  }
  polls_ = spare_polls_ = 0;
  for (const auto& connection : connections_) connection->let_go();
}

void CqFeed::watch() {
  timer_.expires_after(interval_);
  insist([this] {
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->tick();
    });
  });
}

void CqFeed::tick() {
  const std::lock_guard lock(mutex_);
  if (mode_.load(std::memory_order_relaxed) == DriveMode::kWorker) return;
  if (is_overdue(Clock::now() - last_look_)) {
    let_go();
  } else {
    watch();
  }
}

bool CqFeed::is_overdue(Clock::duration idle) {
  interval_ = std::min<Clock::duration>(2 * interval_, kLastInterval);
  const bool polled = std::exchange(polls_seen_, polls_) != polls_;
  if (!is_slept_on()) {
    if (idle <= kPause) return false;
    // A thread rarely updates last_look_ if its polls take long or if it is preempted, so check
    // polls_ as well.
    interval_ = kFirstInterval;
    return !polled;
  }
  // The feed can distinguish a thread that sleeps from a thread that computes without polling only
  // in one way: the computing thread does not serve ready sockets. If sockets are ready and
  // unserved at two consecutive ticks, the workers take over.
  std::array<SocketSet::Ready, SocketSet::kMost> storage;
  const bool is_unserved = idle > kPause && !set_->ready(storage).empty();
  if (is_unserved) interval_ = kFirstInterval;
  return idle > kLongSleep || (std::exchange(was_unserved_, is_unserved) && is_unserved);
}

void CqFeed::forget_ended() {
  std::erase_if(connections_, [](const auto& connection) { return connection->ended(); });
}

}  // namespace iwarp::net
