// SPDX-License-Identifier: Apache-2.0
// Turn: admits one thread at a time between the two calls of a pair, such as ibv_wr_start() and
// ibv_wr_complete(). No lock is held between the calls, so a program may omit the second call, for
// example because of an exception. The same thread may then make the first call again at once, and
// another thread takes over after kTimeout.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace iwarp::rdma_core {

class Turn {
 public:
  void take() {
    const auto me = std::this_thread::get_id();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kTimeout, [&] { return owner_ == std::thread::id() || owner_ == me; });
    owner_ = me;
  }
  void give() {
    {
      const std::lock_guard lock(mutex_);
      if (owner_ != std::this_thread::get_id()) return;
      owner_ = {};
    }
    changed_.notify_one();
  }

 private:
  // Longer than a thread is preempted between the two calls.
  static constexpr auto kTimeout = std::chrono::seconds(5);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id owner_;
};

}  // namespace iwarp::rdma_core
