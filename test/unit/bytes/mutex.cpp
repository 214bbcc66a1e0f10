// SPDX-License-Identifier: Apache-2.0
// Tests the mutex of the data path: mutual exclusion, and that every waiter is woken up.
#include "iwarp/bytes/mutex.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

using iwarp::bytes::Mutex;

TEST_CASE("a mutex admits one thread at a time") {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  Mutex mutex;
  int counted = 0;  // guarded by the mutex
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) {
          const std::lock_guard lock(mutex);
          ++counted;
        }
      });
    }
  }
  CHECK_EQ(counted, kThreads * kEach);
}

TEST_CASE("every thread that sleeps on a mutex gets it") {
  Mutex mutex;
  int counted = 0;
  std::atomic<int> came{0};
  std::vector<std::jthread> threads;
  {
    const std::lock_guard lock(mutex);
    CHECK_FALSE(mutex.try_lock());
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        ++came;
        const std::lock_guard mine(mutex);
        ++counted;
      });
    }
    while (came != 3) std::this_thread::yield();
    // Holds the mutex for longer than any thread spins.
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  }
  threads.clear();
  CHECK_EQ(counted, 3);
  CHECK(mutex.try_lock());
  mutex.unlock();
}
