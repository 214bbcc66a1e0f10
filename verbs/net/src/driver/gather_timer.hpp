// SPDX-License-Identifier: Apache-2.0
// GatherTimer: sends posts that GatheredPosts has held back, if the application neither posts nor
// polls before they are due. Each worker has one timer. Starting the timer costs a wake-up of the
// worker, so the timer keeps running for a while after the last post, and a connection that is
// added meanwhile waits for the next tick.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>

#include "driver/worker.hpp"

namespace iwarp::net {

class DrivenConnection;

class GatherTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit GatherTimer(Worker& worker) : worker_(worker), timer_(worker.context()) {}

  /// Adds a connection that has held-back posts and is not in the timer. If memory runs out,
  /// retries until it succeeds.
  void add(std::shared_ptr<DrivenConnection> connection);
  /// Returns whether large posts of a further connection should not be held back. A thread that
  /// posts to many connections in turn returns to the first one too late, and the worker would send
  /// held-back posts while that thread sends others.
  bool is_busy() const { return count_.load(std::memory_order_relaxed) >= kBusy; }

 private:
  static constexpr std::size_t kBusy = 4;
  struct Entry {
    std::shared_ptr<DrivenConnection> connection;
    unsigned idle = 0;  ///< number of consecutive ticks without a held-back post
  };

  void tick();

  Worker& worker_;
  asio::steady_timer timer_;
  std::atomic<std::size_t> count_{0};  ///< number of connections in the timer
  std::mutex mutex_;                   ///< guards the members below; a leaf in the lock order
  std::list<Entry> entries_;
  bool is_running_ = false;  ///< whether a tick is to follow
  Clock::duration pause_{};  ///< interval before the next tick; 0 before the first tick
};

}  // namespace iwarp::net
