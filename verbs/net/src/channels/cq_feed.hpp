// SPDX-License-Identifier: Apache-2.0
// CqFeed: the connections (and datagram queue pairs) whose completions go to one completion queue.
// A poll of the empty queue drives the connections in the polling thread. While the application
// keeps polling, the workers sleep (as NAPI disables interrupts). If the application sleeps briefly
// and often, the sockets wake it, and it drives the connections. When the application stops
// polling, or sleeps for long, the workers take over.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "driver/socket_set.hpp"
#include "driver/states.hpp"
#include "driver/worker.hpp"
#include "iwarp/bytes/mutex.hpp"
#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"

namespace iwarp::net {

class Driven;

/// The interface through which a feed uses a descriptor on which a thread of the application
/// sleeps.
class SleepDescriptor {
 public:
  /// Returns the flag for SocketSet::expose_to() if the application itself can poll the descriptor.
  /// Otherwise returns null.
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
  /// Sets the completion queue, which must live until stop(). Call before any other function.
  void feeds(verbs::CompletionQueue& queue) { queue_ = &queue; }

  // Overrides of verbs::Progress.
  void make_progress() override;
  void armed() override;

  // The completion channel of the queue calls the following functions.
  /// Makes the sockets wake only `sleeper` and not the workers. On failure returns false, and the
  /// sockets wake the workers.
  bool begin_sleeping(SleepDescriptor& sleeper);
  /// Gives the connections back to the workers if the mode is kSleeper.
  void end_sleeping();
  bool is_slept_on() const { return mode_.load(std::memory_order_relaxed) == DriveMode::kSleeper; }
  /// Drives the ready sockets. Call when the sleeping thread has woken up. Returns true if a socket
  /// was ready, or may have been.
  bool serve();
  verbs::CompletionQueue& queue() { return *queue_; }

  void add(std::shared_ptr<Driven> connection);
  /// Removes all connections. Call before the queue is destroyed.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void flush_posts();
  void poll_all(bool frequent);
  void serve_all(bool look);
  bool serve_ready(bool slept);
  bool has_set();
  void expose(bool on);
  bool polled_often();
  void begin(DriveCause cause);
  void let_go();
  void watch();
  void tick();
  bool is_overdue(Clock::duration idle);
  void forget_ended();

  verbs::CompletionQueue* queue_ = nullptr;
  bytes::Mutex mutex_;  ///< locked before the locks of connections
  std::vector<std::shared_ptr<Driven>> connections_;
  /// number of connections at which add() removes the ended connections
  std::size_t forget_at_ = 0;
  /// the sockets of the connections; null before the first has_set()
  std::shared_ptr<SocketSet> set_;
  /// the mode that the feed asks its connections to enter
  std::atomic<DriveMode> mode_{DriveMode::kWorker};
  /// descriptor on which a thread sleeps; null except in kSleeper
  SleepDescriptor* sleeper_ = nullptr;
  Clock::time_point window_;
  /// time at which a poll last read the clock or a thread last woke up
  Clock::time_point last_look_;
  unsigned polls_ = 0;
  unsigned polls_seen_ = 0;   ///< value of polls_ at the last tick()
  unsigned spare_polls_ = 0;  ///< how many of the next polls drive no socket; see kSparePolls
  bool was_unserved_ = false;
  asio::steady_timer timer_;
  /// Time until the next tick(), which checks whether a thread still polls.
  Clock::duration interval_{};
};

}  // namespace iwarp::net
