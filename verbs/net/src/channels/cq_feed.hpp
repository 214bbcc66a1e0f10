// SPDX-License-Identifier: Apache-2.0
// CqFeed: the connections whose completions go to one completion queue. An empty poll drives them
// in the polling thread, and while polls keep coming the workers are left asleep (in the manner of
// NAPI). A program that sleeps briefly and often is woken by the sockets, and drives them then.
// When the polling stops, or the sleep is long, the workers take over.
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

/// A descriptor that a consumer sleeps on, as far as a feed knows it.
class SleepDescriptor {
 public:
  /// Not null: the program itself has the descriptor. See SocketSet::expose_to().
  virtual std::atomic<bool>* owed() = 0;
  /// False: the kernel does not take it.
  virtual bool watch(const SocketSet& set) = 0;
  virtual void unwatch(const SocketSet& set) = 0;

 protected:
  ~SleepDescriptor() = default;
};

class CqFeed final : public verbs::Progress, public std::enable_shared_from_this<CqFeed> {
 public:
  explicit CqFeed(Worker& worker) : timer_(worker.context()) {}
  /// Before it is used: the queue, which lives until stop().
  void feeds(verbs::CompletionQueue& queue) { queue_ = &queue; }

  // Progress
  void make_progress() override;
  void armed() override;

  // For the completion channel of the queue.
  /// From now on the sockets wake `sleeper`, and no other, and the workers leave them alone. False:
  /// not possible.
  bool begin_sleeping(SleepDescriptor& sleeper);
  /// The workers take over, if a consumer slept on the sockets.
  void end_sleeping();
  bool is_slept_on() const { return mode_.load(std::memory_order_relaxed) == DriveMode::kSleeper; }
  /// The consumer is awake: does what there is to do. True: a socket was ready, or may have been.
  bool serve();
  verbs::CompletionQueue& queue() { return *queue_; }

  void add(std::shared_ptr<Driven> connection);
  /// The queue is going away.
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
  bytes::Mutex mutex_;  ///< before the lock of a connection, which is only tried under it
  std::vector<std::shared_ptr<Driven>> connections_;
  std::size_t forget_at_ = 0;                        ///< so many of them: look who has ended
  std::shared_ptr<SocketSet> set_;                   ///< with their sockets, from its first use on
  std::atomic<DriveMode> mode_{DriveMode::kWorker};  ///< what it asks its connections for
  SleepDescriptor* sleeper_ = nullptr;               ///< kSleeper: who
  Clock::time_point window_;
  Clock::time_point last_look_;  ///< of a poll or of who slept
  unsigned polls_ = 0;
  unsigned polls_seen_ = 0;   ///< of these, at the last tick()
  unsigned spare_polls_ = 0;  ///< empty ones that are only made before he sleeps
  bool was_unserved_ = false;
  asio::steady_timer timer_;
  Clock::duration interval_{};  ///< until the next look whether somebody still polls
};

}  // namespace iwarp::net
