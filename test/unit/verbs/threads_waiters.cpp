// SPDX-License-Identifier: Apache-2.0
// Runs threads that wait for a resource against threads that release it. ThreadSanitizer checks for
// data races. A lost notification hangs the test.
#include <thread>

#include "driver_support.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

constexpr int kWaits = 20'000;

TEST_CASE("a thread that changes an entry is notified when a busy peer unpins it") {
  Table table;
  const auto driver = std::make_shared<CountingDriver>();
  Region* region = table.add(Access::kNone, 0, kPd, Region::Kind::kFastRegion);
  const Stag stag = stag_of(region);
  std::array<std::byte, 64> memory{};
  std::atomic<bool> stop{false};
  std::thread peer([&] {
    while (!stop) (void)table.acquire(remote_write(), stag, address_of(memory.data()), 8);
  });
  const auto until_done = [&](const auto& attempt) {
    for (;;) {
      const int before = driver->resumed;
      if (attempt()) return;
      driver->resumed.wait(before);
    }
  };
  for (int round = 0; round < kWaits; ++round) {
    until_done([&] {
      return !table.fast_register(
          kPd,
          {.stag = stag, .address = memory.data(), .length = memory.size(), .access = kAllRights},
          driver.get());
    });
    until_done([&] {
      const auto done = table.invalidate(kPd, kQp, stag, false, driver.get());
      REQUIRE(done != StagTable::Invalidated::kRefused);
      return done == StagTable::Invalidated::kDone;
    });
  }
  stop = true;
  peer.join();
}

TEST_CASE("a stream that finds no shared receive is notified of the next one") {
  SharedReceiveQueue srq(kPd, {.max_wr = 4, .max_sge = 1}, nullptr);
  const auto driver = std::make_shared<CountingDriver>();
  std::thread consumer([&] {
    for (int posted = 0; posted < kWaits;) {
      if (srq.post_recv({.sgl = {}})) {
        std::this_thread::yield();
      } else {
        ++posted;
      }
    }
  });
  for (int taken = 0; taken < kWaits;) {
    const int before = driver->resumed;
    PostedReceive receive;
    if (SharedReceiveQueuePort::take_or_await(srq, driver, receive)) {
      ++taken;
    } else {
      driver->resumed.wait(before);
    }
  }
  consumer.join();
}

}  // namespace
}  // namespace iwarp::verbs
