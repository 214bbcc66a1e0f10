// SPDX-License-Identifier: Apache-2.0
// CqFeed: the connections (and datagram queue pairs) whose completions go to one completion queue.
// A poll of the empty queue drives the connections in the polling thread, and while the application
// keeps polling the workers sleep (as in NAPI). An application that sleeps briefly and often is
// woken by the sockets, and drives the connections then. When the application stops polling, or
// sleeps for long, the workers take over.
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

/// A descriptor that a thread of the application sleeps on, through the interface that a feed uses.
class SleepDescriptor {
 public:
  /// Returns the flag for SocketSet::expose_to() if the application has the descriptor and can poll
  /// it itself; otherwise null.
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

  // Overrides of verbs::Progress.
  void make_progress() override;
  void armed() override;

  // The completion channel of the queue calls the following functions.
  /// Makes the sockets wake only `sleeper` and not the workers. Returns false if that is not
  /// possible; the sockets then wake the workers.
  bool begin_sleeping(SleepDescriptor& sleeper);
  /// Lets the workers take over if a thread sleeps on the sockets.
  void end_sleeping();
  bool is_slept_on() const { return mode_.load(std::memory_order_relaxed) == DriveMode::kSleeper; }
  /// Drives the ready sockets. Call when the sleeping thread has woken up. Returns whether a socket
  /// was ready, or may have been.
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
  bytes::Mutex mutex_;  ///< taken before the locks of connections
  std::vector<std::shared_ptr<Driven>> connections_;
  std::size_t forget_at_ = 0;       ///< number of connections at which ended ones are removed
  std::shared_ptr<SocketSet> set_;  ///< the sockets of the connections; null until its first use
  std::atomic<DriveMode> mode_{DriveMode::kWorker};  ///< the mode that the connections should have
  SleepDescriptor* sleeper_ = nullptr;               ///< null except in kSleeper
  Clock::time_point window_;
  Clock::time_point last_look_;  ///< when a poll last read the clock, or a thread last woke up
  unsigned polls_ = 0;
  unsigned polls_seen_ = 0;   ///< polls_ at the last tick()
  unsigned spare_polls_ = 0;  ///< number of coming polls that do not drive; see kSparePolls
  bool was_unserved_ = false;
  asio::steady_timer timer_;
  /// Time until the next tick(), which checks that a thread still polls.
  Clock::duration interval_{};
};

}  // namespace iwarp::net
