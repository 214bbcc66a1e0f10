// SPDX-License-Identifier: Apache-2.0
// Tests the access checks of StagTable::acquire(): which request may access which octets.
#include <iwarp/verbs/memory.hpp>

#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

// [IBV-130, IBV-131, IBV-132, IBV-133, IBV-134, IBV-135]
TEST_CASE(
    "each right grants exactly its own kind of access [VRB-30] [RDMAP-111] [SEC-18] [EXT-67]") {
  struct Row {
    Access needed;
    bool remote;
  };
  const std::array rows{Row{Access::kRemoteWrite, true}, Row{Access::kRemoteRead, true},
                        Row{Access::kRemoteAtomic, true}, Row{Access::kLocalWrite, false}};
  for (std::uint32_t bits = 0; bits < 128; ++bits) {
    // Zero-based regions use offsets instead of addresses.
    if ((bits & static_cast<std::uint32_t>(Access::kZeroBased)) != 0) continue;
    Table table;
    const auto given = static_cast<Access>(bits);
    const Region* region = table.add(given);
    for (const Row& row : rows) {
      const AccessRequest who{.pd = kPd, .qp = kQp, .remote = row.remote, .need = row.needed};
      const bool allowed = (bits & static_cast<std::uint32_t>(row.needed)) != 0;
      CHECK(table.ask(who, stag_of(region), address_of(region->address), 1) ==
            (allowed ? "granted" : "right"));
    }
    // A region always allows local reads.
    CHECK(table.ask(local(Access::kNone), stag_of(region), address_of(region->address), 1) ==
          "granted");
  }
}

// [IBV-126, IBV-127]
TEST_CASE(
    "an STag of one protection domain gives no access from another, locally or remotely [VRB-1] "
    "[RDMAP-107] [SEC-3] [SEC-8] [DDP-86] [DDP-93] [DDP-102] [RDMAP-122]") {
  Table table;
  const Region* region = table.add();
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(2), stag_of(region), at, 1) == "other stream");
  CHECK(table.ask(local(Access::kLocalWrite, 2), stag_of(region), at, 1) == "other stream");
  CHECK(table.ask(remote_write(), stag_of(region), at, 1) == "granted");
}

TEST_CASE(
    "an STag of a queue pair is for its peer only; locally its PD may use it [RDMAP-108] [SEC-7] "
    "[SEC-9] [DDP-86] [DDP-87] [DDP-90] [DDP-94]") {
  Table table;
  const Region* region = table.add(kAllRights, kQp);
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(kPd, kQp), stag_of(region), at, 1) == "granted");
  CHECK(table.ask(remote_write(kPd, kQp + 1), stag_of(region), at, 1) == "other stream");
  AccessRequest other = local(Access::kLocalWrite);
  other.qp = kQp + 1;
  CHECK(table.ask(other, stag_of(region), at, 1) == "granted");
}

// [IBV-151, IBV-152]
TEST_CASE("bounds are exact to the octet, at both ends [VRB-32] [SEC-12] [RDMAP-109] [DDP-95]") {
  for (const bool zero_based : {false, true}) {
    Table table;
    const Region* region = table.add(zero_based ? kAllRights | Access::kZeroBased : kAllRights);
    const auto base = zero_based ? 0 : address_of(region->address);
    CHECK(region->to_base == base);
    for (const std::uint32_t length : {1U, 2U, 199U, 200U, 201U}) {
      for (std::uint64_t offset = 0; offset <= 201; ++offset) {
        const bool inside = offset + length <= 200;
        REQUIRE(table.ask(remote_write(), stag_of(region), base + offset, length) ==
                (inside ? "granted" : "bounds"));
      }
    }
    if (!zero_based) {
      CHECK(table.ask(remote_write(), stag_of(region), base - 1, 1) == "bounds");
      CHECK(table.ask(remote_write(), stag_of(region), base - 1, 202) == "bounds");
    }
    CHECK(table.ask(remote_write(), stag_of(region), base, UINT32_MAX) == "bounds");
  }
}

// [IBV-144]
TEST_CASE("a region with a virtual address of its own is addressed by it, remotely and locally") {
  for (const std::uint64_t iova : {std::uint64_t{0}, std::uint64_t{0x1000}, UINT64_MAX - 199}) {
    CAPTURE(iova);
    Table table;
    const Region* region = table.add_at(iova);
    for (const AccessRequest& who : {remote_write(), local(Access::kLocalWrite)}) {
      const auto grant = table.acquire(who, stag_of(region), iova + 7, 193);
      REQUIRE(grant.has_value());
      CHECK(grant->memory().data() == region->address + 7);
      CHECK(grant->memory().size() == 193);
      CHECK(table.ask(who, stag_of(region), iova, 200) == "granted");
      CHECK(table.ask(who, stag_of(region), iova - 1, 1) == "bounds");
      CHECK(table.ask(who, stag_of(region), iova + 1, 200) ==
            (iova > UINT64_MAX - 200 ? "wraps" : "bounds"));
      CHECK(table.ask(who, stag_of(region), address_of(region->address), 1) == "bounds");
    }
  }
  Table table;  // The next region in the same slot has the default offsets again.
  table.drop(table.add_at(0));
  const Region* region = table.add();
  CHECK(table.ask(local(Access::kNone), stag_of(region), 0, 1) == "bounds");
  CHECK(table.ask(local(Access::kNone), stag_of(region), address_of(region->address), 1) ==
        "granted");
}

TEST_CASE("the chosen virtual address must leave room for the whole region") {
  Table table;
  const auto refused = [&table](std::uint64_t iova, Access access) {
    const auto region = table.create(
        {.pd = kPd, .address = table.memory.data(), .length = 200, .access = access, .iova = iova});
    return !region && region.error() == Errc::kInvalidArgument;
  };
  CHECK_FALSE(refused(UINT64_MAX - 199, kAllRights));
  CHECK(refused(UINT64_MAX - 198, kAllRights));
  CHECK(refused(UINT64_MAX, kAllRights));
  CHECK(refused(0, kAllRights | Access::kZeroBased));
  CHECK(table.size() == 1);
}

TEST_CASE(
    "an offset range that passes 2^64 wraps; one that ends there is out of bounds [RDMAP-105] "
    "[DDP-77]") {
  Table table;
  const Region* region = table.add();
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX, 2) == "wraps");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX - 6, 8) == "wraps");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX - 7, 8) == "bounds");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX, 1) == "bounds");
}

TEST_CASE(
    "remote requests name offsets, local ones virtual addresses, whatever the base "
    "[VRB-29]") {
  Table table;
  const Region* region = table.add(kAllRights | Access::kZeroBased);
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(), stag_of(region), 0, 200) == "granted");
  CHECK(table.ask(remote_write(), stag_of(region), at, 1) == "bounds");
  CHECK(table.ask(local(Access::kNone), stag_of(region), at, 200) == "granted");
  CHECK(table.ask(local(Access::kNone), stag_of(region), 0, 1) == "bounds");
  const auto grant = table.acquire(remote_write(), stag_of(region), 17, 3);
  REQUIRE(grant.has_value());
  CHECK(grant->memory().data() == region->address + 17);
  CHECK(grant->memory().size() == 3);
}

TEST_CASE("refusals are checked in the order valid, PD or QP, right, wrap, bounds [VRB-32]") {
  Table table;
  const Region* region = table.add(Access::kLocalWrite, kQp);
  Stag wrong = stag_of(region);
  wrong.value ^= 1;
  CHECK(table.ask(remote_write(2, 9), wrong, UINT64_MAX, 9) == "invalid");
  CHECK(table.ask(remote_write(2, 9), stag_of(region), UINT64_MAX, 9) == "other stream");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX, 9) == "right");
  const Region* open = table.add();
  CHECK(table.ask(remote_write(), stag_of(open), UINT64_MAX, 9) == "wraps");
}

TEST_CASE("STag 0, another key, and an unused index are invalid [VRB-26] [VRB-27]") {
  Table table;
  const Region* region = table.add();
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(), Stag{0}, at, 1) == "invalid");
  // Stag 5 has index 0, which is never used.
  CHECK(table.ask(remote_write(), Stag{5}, at, 1) == "invalid");
  for (std::uint32_t key = 1; key < 256; ++key) {
    CHECK(table.ask(remote_write(), Stag{stag_of(region).value | key}, at, 1) == "invalid");
  }
  CHECK(table.ask(remote_write(), Stag{stag_of(region).value + 0x100}, at, 1) == "invalid");
}

TEST_CASE("a grant pins until it ends, also if it was moved") {
  Table table;
  Region* region = table.add();
  {
    auto first = table.acquire(remote_write(), stag_of(region), address_of(region->address), 8);
    REQUIRE(first.has_value());
    CHECK(region->pins.load() == 1);
    Grant second = std::move(*first);
    CHECK(region->pins.load() == 1);
    Grant third;
    third = std::move(second);
    CHECK(region->pins.load() == 1);
    CHECK(region->valid.load());
    CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == StagTable::Invalidated::kPinned);
    CHECK_FALSE(region->valid.load());
    third.release();
    third.release();
    CHECK(region->pins.load() == 0);
  }
  CHECK(region->pins.load() == 0);
  // A refused request holds no pin.
  CHECK(table.ask(remote_write(), stag_of(region), 0, 1) == "invalid");
  const Region* other = table.add();
  CHECK(table.ask(remote_write(), stag_of(other), 0, 1) == "bounds");
  CHECK(other->pins.load() == 0);
}

}  // namespace
}  // namespace iwarp::verbs
