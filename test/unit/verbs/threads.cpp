// SPDX-License-Identifier: Apache-2.0
// Runs threads against each other: lock-free readers of memory and writers that revoke access,
// producers and consumers of a queue, and threads that wait for a resource and threads that release
// it. A lost notification hangs the test. ThreadSanitizer checks for data races.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_support.hpp"
#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

constexpr int kRounds = 3000;

TEST_CASE("no thread writes after destroy() [SEC-14, DDP-98, RDMAP-112, VRB-34]") {
  Table table;
  std::atomic<std::uint32_t> stag{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> granted{0};
  std::array<std::byte, 64> target{};
  std::vector<std::thread> peers;
  for (int i = 0; i < 2; ++i) {
    peers.emplace_back([&] {
      while (!stop.load()) {
        const auto grant =
            table.acquire(remote_write(), Stag{stag.load()}, address_of(target.data()), 64);
        if (!grant) continue;
        granted.fetch_add(1);
        // In reality two peers may write at the same time. The lock hides that race from
        // ThreadSanitizer, because this test is about the race with the owner.
        static std::mutex peers_only;
        const std::lock_guard lock(peers_only);
        std::memset(grant->memory().data(), 0x55, 64);
      }
    });
  }
  for (int round = 0; round < kRounds || granted.load() == 0; ++round) {
    auto region = table.create({.kind = Region::Kind::kRegion,
                                .pd = kPd,
                                .address = target.data(),
                                .length = 64,
                                .access = kAllRights});
    REQUIRE(region.has_value());
    stag.store((*region)->stag.load());
    if (round % 8 == 0) std::this_thread::yield();
    REQUIRE(!table.destroy(*region, [](Region&) {}));
    target.fill(std::byte{0});  // Access has been revoked, so only this thread uses the memory.
    for (const std::byte b : target) REQUIRE(b == std::byte{0});
  }
  stop.store(true);
  for (auto& peer : peers) peer.join();
}

TEST_CASE("registration and invalidation race with a peer's use [VRB-34, VRB-49]") {
  Table table;
  Region* region = table.add(Access::kNone, 0, kPd, Region::Kind::kFastRegion);
  std::atomic<std::uint32_t> stag{region->stag.load()};
  std::atomic<bool> stop{false};
  std::array<std::byte, 64> one{};
  std::array<std::byte, 64> two{};
  std::thread peer([&] {
    while (!stop.load()) {
      const auto now = Stag{stag.load()};
      for (auto* memory : {&one, &two}) {
        const auto grant = table.acquire(remote_write(), now, address_of(memory->data()), 64);
        if (grant) std::memset(grant->memory().data(), 0x55, 64);
      }
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    auto& memory = round % 2 == 0 ? one : two;
    const auto what = registration(region, memory, static_cast<std::uint8_t>(round));
    std::error_code error;
    do {
      error = table.fast_register(kPd, what);
    } while (error == Errc::kBusy);
    REQUIRE(!error);
    stag.store(region->stag.load());
    StagTable::Invalidated done{};
    do {
      done = table.invalidate(kPd, kQp, Stag{region->stag.load()}, false);
    } while (done == StagTable::Invalidated::kPinned);
    REQUIRE(done == StagTable::Invalidated::kDone);
    memory.fill(std::byte{0});
  }
  stop.store(true);
  peer.join();
}

TEST_CASE("an entry that is pinned while invalid stays invalid and unchanged until unpinned") {
  Table table;
  Region* region = table.add(Access::kNone, 0, kPd, Region::Kind::kFastRegion);
  std::array<std::byte, 64> small{};
  std::array<std::byte, 128> large{};
  std::atomic<bool> stop{false};
  std::atomic<int> held{0};
  std::atomic<int> changed{0};
  const auto hold = [&] {
    while (!stop.load()) {
      const auto grant = table.hold_invalid(stag_of(region));
      if (grant.region() == nullptr) continue;
      held.fetch_add(1);
      const auto memory = grant.memory();
      const bool is_torn = (memory.data() == small.data() && memory.size() != small.size()) ||
                           (memory.data() == large.data() && memory.size() != large.size());
      bool is_valid = false;
      for (int look = 0; look < 50; ++look) is_valid |= region->valid.load();
      if (is_torn || is_valid) changed.fetch_add(1);
    }
  };
  std::thread holder(hold);
  for (int round = 0; round < 20 * kRounds || held.load() == 0; ++round) {
    const bytes::Span memory = round % 2 == 0 ? bytes::Span(small) : bytes::Span(large);
    const auto what = registration(region, memory, static_cast<std::uint8_t>(round));
    while (table.fast_register(kPd, what) == Errc::kBusy) {
    }
    while (table.invalidate(kPd, kQp, stag_of(region), false) == StagTable::Invalidated::kPinned) {
    }
  }
  stop.store(true);
  holder.join();
  CHECK(changed.load() == 0);
}

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
