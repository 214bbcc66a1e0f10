// SPDX-License-Identifier: Apache-2.0
// Tests the lifetime of STags: unpredictable values, limits, reuse and destruction.
#include <set>

#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

TEST_CASE(
    "indices follow the random source, spread over all 24 bits, and are never 0 "
    "[RDMAP-114] [RDMAP-115] [SEC-10] [VRB-26] [VRB-27]") {
  Table one(2000, 1);
  Table two(2000, 2);
  std::set<std::uint32_t> seen;
  std::array<int, 16> buckets{};
  int rising = 0;
  std::uint32_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto stag = stag_of(one.add()).value;
    CHECK(stag != stag_of(two.add()).value);
    CHECK((stag >> 8) != 0);
    CHECK((stag & 0xFF) == 0);
    CHECK(seen.insert(stag >> 8).second);
    ++buckets[stag >> 28];
    if (stag > last) ++rising;
    last = stag;
  }
  // The expected number in each bucket is 125.
  for (const int n : buckets) CHECK((n > 60 && n < 200));
  CHECK((rising > 850 && rising < 1150));  // The STags are in random order.
}

TEST_CASE("a random source that repeats itself and returns 0 still gives distinct indices") {
  int call = 0;
  StagTable table(8, [&call] { return static_cast<std::uint32_t>(call++ / 3); });
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 8; ++i) {
    const auto region = table.create({.kind = Region::Kind::kFastRegion, .pd = kPd}).value();
    CHECK(seen.insert((region)->stag.load()).second);
  }
  CHECK(seen.count(0) == 0);
}

// [IBV-31]
TEST_CASE("the table has as many STags as its capacity [RDMAP-121, SEC-2, VRB-28]") {
  Table table(3);
  Region* first = table.add();
  table.add();
  table.add();
  CHECK(table.size() == 3);
  const auto refused = table.create({.kind = Region::Kind::kRegion, .pd = kPd});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == Errc::kLimitReached);
  CHECK(table.size() == 3);
  CHECK(table.registrations() == 3);
  table.drop(first);
  CHECK(table.size() == 2);
  table.add();
}

TEST_CASE("repeated registration and deregistration reuses the same entries [SEC-11]") {
  Table table(1 << 20);
  std::set<const Region*> entries;
  for (int i = 0; i < 20'000; ++i) {
    Region* region = table.add();
    entries.insert(region);
    table.drop(region);
  }
  CHECK(entries.size() < 2000);
}

// [IBV-147, IBV-157]
TEST_CASE("a freed STag is invalid in every call, and not drawn again soon [SEC-11]") {
  // Every second random number is 7.
  std::uint32_t draws = 0;
  StagTable table(1 << 20, [&draws] { return ++draws % 2 == 0 ? 1000 + draws : 7; });
  std::array<std::byte, 8> memory{};
  const auto create = [&] {
    const auto region = table.create(
        {.pd = kPd, .address = memory.data(), .length = memory.size(), .access = kAllRights});
    return region.value();
  };
  Region* const first = create();
  const Stag dead = stag_of(first);
  REQUIRE((dead.value >> 8) == 7);
  REQUIRE(!table.destroy(first, [](Region&) {}));
  for (const bool remote : {false, true}) {
    CHECK(table.invalidate(kPd, kQp, dead, remote) == StagTable::Invalidated::kRefused);
  }
  CHECK(table.hold_invalid(dead).region() == nullptr);
  CHECK(table.bind(kPd, kQp, {.window = dead, .region = dead}) == Errc::kNotBindable);
  for (int i = 0; i < 500; ++i) {
    Region* const region = create();
    CHECK(stag_of(region) != dead);
    REQUIRE(!table.destroy(region, [](Region&) {}));
  }
}

TEST_CASE("after 100 000 registrations look-ups find existing STags and no others") {
  Table table(200, 9);
  std::vector<Region*> live;
  std::vector<Stag> dead;
  for (int i = 0; i < 100'000; ++i) {
    if (live.size() == 200 || (!live.empty() && table.numbers() % 3 == 0)) {
      const auto which = table.numbers() % live.size();
      dead.push_back(stag_of(live[which]));
      table.drop(live[which]);
      live[which] = live.back();
      live.pop_back();
    } else {
      live.push_back(table.add());
    }
    if (i % 1000 != 0) continue;
    for (const Region* region : live) {
      REQUIRE(table.ask(remote_write(), stag_of(region), address_of(region->address), 1) ==
              "granted");
    }
  }
  CHECK(table.size() == live.size());
  std::set<std::uint32_t> alive;
  for (const Region* region : live) alive.insert(region->stag.load());
  for (const Stag stag : dead) {
    if (alive.count(stag.value) != 0) continue;  // The same STag was drawn again by chance.
    REQUIRE(table.ask(remote_write(), stag, address_of(table.memory.data() + 100), 1) == "invalid");
  }
}

TEST_CASE("destroy() invalidates, has pins released, returns [SEC-14, DDP-98, RDMAP-112]") {
  Table table;
  Region* region = table.add();
  const Stag stag = stag_of(region);
  const auto at = address_of(region->address);
  auto grant = table.acquire(remote_write(), stag, at, 8).value();
  int calls = 0;
  const auto error = table.destroy(region, [&](Region& r) {
    CHECK(&r == region);
    CHECK(table.ask(remote_write(), stag, at, 1) == "invalid");
    CHECK_FALSE(region->valid.load());
    if (++calls == 3) grant.release();
  });
  CHECK(!error);
  CHECK(calls == 3);
  CHECK(table.size() == 0);
}

TEST_CASE("no operation makes a region valid again while it is being destroyed") {
  Table table;
  Region* region = table.add(Access::kNone, 0, kPd, Region::Kind::kFastRegion);
  const auto again = registration(region, bytes::Span(table.memory).first(8), 1);
  REQUIRE(!table.fast_register(kPd, again));
  auto grant =
      table.acquire(remote_write(), stag_of(region), address_of(table.memory.data()), 8).value();
  const auto error = table.destroy(region, [&](Region&) {
    grant.release();
    CHECK(table.fast_register(kPd, again) == Errc::kInvalidArgument);
  });
  CHECK(!error);
  CHECK_FALSE(region->valid.load());
  CHECK(table.size() == 0);
}

}  // namespace
}  // namespace iwarp::verbs
