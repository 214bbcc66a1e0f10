// SPDX-License-Identifier: Apache-2.0
// Tests queues that two threads share: one thread produces, the other consumes, and nothing is
// lost. ThreadSanitizer checks for data races.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <thread>
#include <vector>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {
namespace {

// [IBV-219]
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
      CompletionQueuePort::push(cq, {.wr_id = id}, false, {.counter = &reaped, .value = id + 1});
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

TEST_CASE("receives that two threads post to a UD queue pair in Error are each flushed once") {
  constexpr std::uint64_t kEach = 5'000;
  StagTable stags(4, [] { return 1U; });
  CompletionQueue sends(4, [] {});
  CompletionQueue receives(256, [] {});
  DatagramQueuePair qp({.num = 1,
                        .send_cq = &sends,
                        .recv_cq = &receives,
                        .limits = {.max_send_wr = 1, .max_recv_wr = 64}},
                       stags);
  REQUIRE_FALSE(qp.set_state(DatagramState::kInit));
  REQUIRE_FALSE(qp.set_state(DatagramState::kError));
  std::array<std::thread, 2> posters;
  for (std::size_t i = 0; i != posters.size(); ++i) {
    posters[i] = std::thread([&qp, i] {
      for (std::uint64_t id = i * kEach; id != (i + 1) * kEach;) {
        if (!qp.post_recv({.wr_id = id, .sgl = {}})) ++id;
      }
    });
  }
  std::vector<int> flushed(2 * kEach);
  std::array<WorkCompletion, 16> out;
  for (std::size_t done = 0; done != flushed.size();) {
    const auto n = receives.poll(out);
    for (const auto& wc : std::span(out).first(n)) ++flushed[wc.wr_id];
    done += n;
  }
  for (auto& poster : posters) poster.join();
  CHECK(std::ranges::all_of(flushed, [](int times) { return times == 1; }));
  CHECK_FALSE(receives.overflowed());
}

// [IBV-372]
TEST_CASE("two streams that consume from one shared queue get every receive once [VRB-19]") {
  constexpr std::uint64_t kTotal = 20'000;
  SharedReceiveQueue srq(1, {.max_wr = 32, .max_sge = 1}, nullptr);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> sum{0};
  std::array<std::thread, 2> streams;
  for (auto& stream : streams) {
    stream = std::thread([&] {
      while (taken.load() < kTotal) {
        PostedReceive receive;
        if (!SharedReceiveQueuePort::take(srq, receive)) continue;
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
