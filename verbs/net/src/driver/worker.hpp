// SPDX-License-Identifier: Apache-2.0
// Worker: one thread that serves the sockets and the timers of its connections, so that RDMA
// operations of the peer progress while the application sleeps. The thread runs no code of the
// application.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "iwarp/net/insist.hpp"

namespace iwarp::net {

namespace asio = boost::asio;

class GatherTimer;

class Worker {
 public:
  /// Starts the thread, which blocks all signals, because signals belong to the application.
  /// `busy_poll` is how long the idle thread busy-polls before it blocks. Throws std::system_error
  /// if a thread or descriptor is not available.
  explicit Worker(std::chrono::microseconds busy_poll);
  /// Stops and joins the thread. Functions that were passed to post() and have not run are
  /// destroyed without being called.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  asio::io_context& context() { return context_; }
  GatherTimer& gather_timer() { return *gather_timer_; }
  /// Runs `function` on the worker thread. Does not fail: if memory runs out, retries until it
  /// succeeds.
  template <typename Function>
  void post(const Function& function) {
    insist([&] { asio::post(context_, Function(function)); });
  }
  /// Stops and joins the thread; context() stays valid until the Worker is destroyed.
  void join();

 private:
  void run();
  void work();

  const std::chrono::microseconds busy_poll_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::unique_ptr<GatherTimer> gather_timer_;
  std::thread thread_;
};

}  // namespace iwarp::net
