// SPDX-License-Identifier: Apache-2.0
// Tests the access checks of StagTable::acquire(): which request may access which octets.
#include <iwarp/verbs/memory.hpp>

#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

// [IBV-130, IBV-131, IBV-132, IBV-133, IBV-134, IBV-135]
TEST_CASE("each right grants exactly its kind of access [VRB-30] [RDMAP-111] [SEC-18] [EXT-67]") {
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
    "[RDMAP-107] [SEC-3] [SEC-8] [DDP-84] [DDP-86] [DDP-93] [DDP-102] [RDMAP-122]") {
  Table table;
  const Region* region = table.add();
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(2), stag_of(region), at, 1) == "other stream");
  CHECK(table.ask(local(Access::kLocalWrite, 2), stag_of(region), at, 1) == "other stream");
  CHECK(table.ask(remote_write(), stag_of(region), at, 1) == "granted");
}

TEST_CASE(
    "an STag of a queue pair is for its peer only; locally its PD may use it [RDMAP-108] [SEC-7] "
    "[SEC-9] [DDP-85] [DDP-86] [DDP-87] [DDP-90] [DDP-94]") {
  Table table;
  const Region* region = table.add(kAllRights, kQp);
  const auto at = address_of(region->address);
  CHECK(table.ask(remote_write(kPd, kQp), stag_of(region), at, 1) == "granted");
  CHECK(table.ask(remote_write(kPd, kQp + 1), stag_of(region), at, 1) == "other stream");
  AccessRequest other = local(Access::kLocalWrite);
  other.qp = kQp + 1;
  CHECK(table.ask(other, stag_of(region), at, 1) == "granted");
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

TEST_CASE("a range beyond 2^64 wraps; one that ends there is out of bounds [RDMAP-105, DDP-77]") {
  Table table;
  const Region* region = table.add();
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX, 2) == "wraps");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX - 6, 8) == "wraps");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX - 7, 8) == "bounds");
  CHECK(table.ask(remote_write(), stag_of(region), UINT64_MAX, 1) == "bounds");
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

TEST_CASE("a grant pins until it ends, also if it was moved") {
  Table table;
  Region* region = table.add();
  {
    auto first =
        table.acquire(remote_write(), stag_of(region), address_of(region->address), 8).value();
    CHECK(region->pins.load() == 1);
    Grant second = std::move(first);
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
