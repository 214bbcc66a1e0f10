// SPDX-License-Identifier: Apache-2.0
// Turn: admits one thread at a time between two paired calls, such as ibv_wr_start() and
// ibv_wr_complete(). The first call calls take(), and the second calls give(). No mutex stays
// locked between the calls, so a program may omit the second call, for example because of an
// exception. The same thread may then make the first call again at once. Another thread that makes
// the first call waits at most kTimeout.
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
  // kTimeout is longer than any preemption of a thread between take() and give().
  static constexpr auto kTimeout = std::chrono::seconds(5);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id owner_;
};

}  // namespace iwarp::rdma_core
