// SPDX-License-Identifier: Apache-2.0
// GatheredPosts: holds back the doorbells of one connection, so that requests posted one at a time
// are sent together. See rfc-notes/decisions/0021.
//
// GatherTimer: sends posts that GatheredPosts has held back, if the application neither posts nor
// polls before they are due. Each worker has one timer. Starting the timer costs a wake-up of the
// worker, so the timer keeps running for a while after the last post, and a connection that is
// added meanwhile waits for the next tick.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "driver/worker.hpp"

namespace iwarp::net {

class GatheredPosts {
 public:
  using Clock = std::chrono::steady_clock;

  /// `longest` is the longest time for which a post may be held back; 0 means that each post is
  /// sent at once.
  explicit GatheredPosts(Clock::duration longest) : longest_(longest) {}

  /// Counts a posted request that may be held back, and returns the count. Returns 0 if all posts
  /// have to be sent now, because nothing has been sent for at least longest(), or because kBatch
  /// posts are waiting, which justifies a system call.
  std::uint32_t hold_back(Clock::time_point now) {
    if (now >= due()) return 0;
    if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
    const auto count = count_.fetch_add(1) + 1;
    return count < kBatch ? count : 0;
  }
  bool is_on() const { return longest_.count() != 0; }
  bool any() const { return count_.load() != 0; }
  /// Returns the time at which the held-back posts have to be sent.
  Clock::time_point due() const {
    const Clock::duration left_at(left_at_.load(std::memory_order_relaxed));
    return Clock::time_point(left_at + longest_);
  }
  Clock::duration longest() const { return longest_; }

  /// Returns whether any post has been held back since the last take_used().
  bool take_used() { return used_.exchange(false, std::memory_order_relaxed); }

  // Call the next two functions with the connection's lock held.
  /// Call before sending all posts. Sets the number of held-back posts to 0.
  void leave() {
    if (any()) count_.exchange(0, std::memory_order_acq_rel);
  }
  /// Call after TCP has accepted octets.
  void left(Clock::time_point now) {
    left_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kBatch = 16;

  const Clock::duration longest_;
  /// Number of posts held back. Sequentially consistent with DrivenConnection::in_gather_timer_: a
  /// posting thread first increments the count and then reads that flag; the timer first clears the
  /// flag and then reads the count. So either the timer sees the post, or the posting thread adds
  /// the connection to the timer again.
  std::atomic<std::uint32_t> count_{0};
  std::atomic<bool> used_{false};
  std::atomic<Clock::rep> left_at_{0};  ///< time at which TCP last accepted octets
};

class DrivenConnection;

class GatherTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit GatherTimer(Worker& worker) : worker_(worker), timer_(worker.context()) {}

  /// Adds a connection that has held-back posts and is not in the timer. If memory runs out,
  /// retries until it succeeds.
  void add(std::shared_ptr<DrivenConnection> connection);
  /// Counts a large post of the connection that has `seen`. Returns whether large posts are to be
  /// sent at once: if a thread posts to many connections in turn, it returns to each of them late,
  /// and the worker would send held-back posts while that thread sends others.
  bool counts_large(std::atomic<std::uint32_t>& seen);

 private:
  struct Entry {
    std::shared_ptr<DrivenConnection> connection;
    unsigned idle = 0;  ///< number of consecutive ticks without a held-back post
  };

  void tick();

  Worker& worker_;
  asio::steady_timer timer_;
  std::atomic<std::uint32_t> large_posts_{0};
  std::atomic<std::uint32_t> posters_{0};  ///< connections with a large post in this window
  std::atomic<bool> is_spread_{false};     ///< whether the last window had many of them
  std::mutex mutex_;                       ///< guards the members below; a leaf in the lock order
  std::list<Entry> entries_;
  bool is_running_ = false;  ///< whether a tick is to follow
  Clock::duration pause_{};  ///< interval before the next tick; 0 before the first tick
};

}  // namespace iwarp::net
