// SPDX-License-Identifier: Apache-2.0
// GatherTimer: has the posts leave that wait to leave together when their program neither posts nor
// polls any more. One for each worker. To be started costs a wake-up, so it runs on for a while.
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

  /// The connection has posts that wait, and is not among those looked at. Waits for memory.
  void add(std::shared_ptr<DrivenConnection> connection);

 private:
  struct Entry {
    std::shared_ptr<DrivenConnection> connection;
    unsigned idle = 0;  ///< looks at which nothing waited
  };

  void tick();

  Worker& worker_;
  asio::steady_timer timer_;
  std::mutex mutex_;  ///< of what follows; the last
  std::list<Entry> entries_;
  bool running_ = false;
};

}  // namespace iwarp::net
