// SPDX-License-Identifier: Apache-2.0
// CqFeed: the connections whose completions go to one completion queue. A poll of the empty queue
// drives them in the polling thread, and while polls keep coming the workers sleep (in the manner
// of NAPI). An application that sleeps briefly and often is woken by the sockets, and drives them
// then. When the polling stops, or the sleep is long, the workers take over.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "driver/drive_mode.hpp"
#include "driver/socket_set.hpp"
#include "driver/worker.hpp"
#include "iwarp/bytes/mutex.hpp"
#include "iwarp/verbs/completion_queue.hpp"

namespace iwarp::net {

class Driven;

/// A descriptor that a thread of the application sleeps on, as a feed sees it.
class SleepDescriptor {
 public:
  /// Returns the flag for SocketSet::expose_to() if the application itself has the descriptor;
  /// otherwise null.
  virtual std::atomic<bool>* owed() = 0;
  /// Adds the set to the descriptor. Returns false if the kernel refuses.
  virtual bool watch(const SocketSet& set) = 0;
  virtual void unwatch(const SocketSet& set) = 0;

 protected:
  ~SleepDescriptor() = default;
};

class CqFeed final : public verbs::Progress, public std::enable_shared_from_this<CqFeed> {
 public:
  explicit CqFeed(Worker& worker) : timer_(worker.context()) {}
  /// Sets the queue, which must live until stop(). Call before any other function.
  void feeds(verbs::CompletionQueue& queue) { queue_ = &queue; }

  // Progress
  void make_progress() override;
  void armed() override;

  // For the completion channel of the queue.
  /// Makes the sockets wake only `sleeper`, and the workers leave them alone. Returns false if that
  /// is not possible.
  bool begin_sleeping(SleepDescriptor& sleeper);
  /// Lets the workers take over if a thread sleeps on the sockets.
  void end_sleeping();
  bool is_slept_on() const { return mode_.load(std::memory_order_relaxed) == DriveMode::kSleeper; }
  /// The sleeping thread is awake: drives the ready sockets. Returns whether a socket was ready, or
  /// may have been.
  bool serve();
  verbs::CompletionQueue& queue() { return *queue_; }

  void add(std::shared_ptr<Driven> connection);
  /// Removes all connections. Call before the queue is destroyed.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void flush_posts();
  bool poll_one(Driven& connection, bool frequent);
  void poll_all(bool frequent);
  void serve_all(bool look);
  bool serve_ready(bool slept);
  bool has_set();
  void expose(bool on);
  bool polled_often();
  DriveMode step(DriveCause cause);
  void begin(DriveCause cause);
  void let_go();
  void watch();
  void tick();
  bool is_overdue(Clock::duration idle);
  void forget_ended();

  verbs::CompletionQueue* queue_ = nullptr;
  bytes::Mutex mutex_;  ///< taken before the lock of a connection, which it only tries
  std::vector<std::shared_ptr<Driven>> connections_;
  std::size_t forget_at_ = 0;       ///< at this number of them, ended ones are removed
  std::shared_ptr<SocketSet> set_;  ///< has their sockets; null until its first use
  std::atomic<DriveMode> mode_{DriveMode::kWorker};  ///< what it asks its connections for
  SleepDescriptor* sleeper_ = nullptr;               ///< in kSleeper, else null
  Clock::time_point window_;
  Clock::time_point last_look_;  ///< of a poll or of a woken thread
  unsigned polls_ = 0;
  unsigned polls_seen_ = 0;   ///< polls_ at the last tick()
  unsigned spare_polls_ = 0;  ///< polls that will only precede the next sleep
  bool was_unserved_ = false;
  asio::steady_timer timer_;
  Clock::duration interval_{};  ///< until the next check whether a thread still polls
};

}  // namespace iwarp::net
