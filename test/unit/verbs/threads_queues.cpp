// SPDX-License-Identifier: Apache-2.0
// Queues between threads: one produces, one consumes, none is lost. Made for ThreadSanitizer.
#include <doctest/doctest.h>

#include <array>
#include <condition_variable>
#include <thread>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {
namespace {

TEST_CASE("a consumer that arms, polls and sleeps misses no completion [VRB-52]") {
  constexpr std::uint64_t kTotal = 20'000;
  std::mutex mutex;
  std::condition_variable wake;
  int signals = 0;
  CompletionQueue cq(64, [&] {
    const std::lock_guard lock(mutex);
    ++signals;
    wake.notify_one();
  });
  ReapCount reaped;
  std::thread producer([&] {
    for (std::uint64_t id = 0; id < kTotal; ++id) {
      while (id - reaped.value() >= 64) std::this_thread::yield();
      cq.push({.wr_id = id}, false, {.counter = &reaped, .value = id + 1});
    }
  });
  std::uint64_t next = 0;
  std::array<WorkCompletion, 16> out;
  while (next < kTotal) {
    cq.arm(Notify::kNext);
    const auto n = cq.poll(out);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i].wr_id == next++);
    if (n != 0) continue;
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return signals != 0; });
    signals = 0;
  }
  producer.join();
  CHECK_FALSE(cq.overflowed());
}

TEST_CASE("two streams that eat from one shared queue get every receive once [VRB-19]") {
  constexpr std::uint64_t kTotal = 20'000;
  SharedReceiveQueue srq(1, {.max_wr = 32, .max_sge = 1}, nullptr);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> sum{0};
  std::array<std::thread, 2> streams;
  for (auto& stream : streams) {
    stream = std::thread([&] {
      while (taken.load() < kTotal) {
        PostedReceive receive;
        if (!srq.take(receive)) continue;
        sum.fetch_add(receive.wr_id);
        taken.fetch_add(1);
      }
    });
  }
  for (std::uint64_t id = 1; id <= kTotal; ++id) {
    while (srq.post_recv({.wr_id = id, .sgl = {}})) std::this_thread::yield();
  }
  for (auto& stream : streams) stream.join();
  CHECK(sum.load() == kTotal * (kTotal + 1) / 2);
}

}  // namespace
}  // namespace iwarp::verbs
