// SPDX-License-Identifier: Apache-2.0
// GatherTimer: sends the posts that were held back to be sent together, when their application
// neither posts nor polls any more. Each worker has one. Starting it costs a wake-up, so it runs on
// for a while.
#pragma once

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

  /// Adds a connection that has held-back posts and is not in the timer. Waits for memory.
  void add(std::shared_ptr<DrivenConnection> connection);

 private:
  struct Entry {
    std::shared_ptr<DrivenConnection> connection;
    unsigned idle = 0;  ///< consecutive looks without a held-back post
  };

  void tick();

  Worker& worker_;
  asio::steady_timer timer_;
  std::mutex mutex_;  ///< guards what follows; last in the lock order
  std::list<Entry> entries_;
  bool running_ = false;
};

}  // namespace iwarp::net
