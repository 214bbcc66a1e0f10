// SPDX-License-Identifier: Apache-2.0
// CqFeed: the connections whose completions go to one completion queue. An empty poll drives them
// in the polling thread, and while polls keep coming the workers are left asleep (in the manner of
// NAPI). When the polling stops, or the queue is armed to sleep on it, the workers take over.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "iwarp/verbs/completion_queue.hpp"
#include "worker.hpp"

namespace iwarp::net {

class DrivenConnection;

class CqFeed final : public verbs::Progress, public std::enable_shared_from_this<CqFeed> {
 public:
  explicit CqFeed(Worker& worker) : timer_(worker.context()) {}

  // Progress
  void make_progress() override;
  void armed() override;

  // For a consumer that sleeps on the sockets himself, see CompletionChannel::wait().
  /// Adds the connections to `out`; the workers leave them alone for a while. False: not possible.
  bool attend(std::vector<std::shared_ptr<DrivenConnection>>& out);
  /// He is awake.
  void woken();
  /// He sleeps by other means: the workers take over.
  void give_up();

  /// The queue has called its consumer: it is no longer armed.
  void notified() { armed_.store(false, std::memory_order_relaxed); }
  void add(std::shared_ptr<DrivenConnection> connection);
  /// The queue is going away.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  bool polled_often();
  void begin_quiet();
  void watch();
  void tick();
  void wake_all();
  void forget_ended();

  std::mutex mutex_;  ///< before the lock of a connection, which is only tried under it
  std::vector<std::shared_ptr<DrivenConnection>> connections_;
  std::atomic<bool> armed_{false};
  Clock::time_point window_;
  Clock::time_point last_poll_;
  unsigned polls_ = 0;
  bool quiet_ = false;
  bool attended_ = false;     ///< the consumer sleeps on the sockets, when he sleeps
  bool sleeping_ = false;     ///< he does just now
  unsigned spare_polls_ = 0;  ///< empty ones that are only made before he sleeps
  asio::steady_timer timer_;
  Clock::duration interval_{};  ///< until the next look whether somebody still polls
};

}  // namespace iwarp::net
