// SPDX-License-Identifier: Apache-2.0
// Runs lock-free readers against writers that revoke access. ThreadSanitizer checks for data races.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace iwarp::verbs
