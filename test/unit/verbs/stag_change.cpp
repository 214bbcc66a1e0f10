// SPDX-License-Identifier: Apache-2.0
// Tests the operations that change an STag: fast registration, binding and invalidation. For each,
// tries every reason to refuse it.
#include <functional>

#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

using Invalidated = StagTable::Invalidated;

Region* fast(Table& table, PdId pd = kPd) {
  return table.add(Access::kNone, 0, pd, Region::Kind::kFastRegion);
}
Region* window(Table& table, PdId pd = kPd) {
  return table.add(Access::kNone, 0, pd, Region::Kind::kWindow);
}

Registration registration(Table& table, const Region* region) {
  return registration(region, bytes::Span(table.memory).subspan(10, 20), 0x5A);
}

WindowBind binding(const Region* opened, const Region* region) {
  return {.window = stag_of(opened),
          .key = 0x77,
          .region = stag_of(region),
          .address = region->address + 50,
          .length = 100,
          .access = Access::kRemoteWrite | Access::kRemoteRead};
}

TEST_CASE("a fast region has the program's key, and is invalid before [VRB-26, VRB-49]") {
  Table table;
  Region* region = fast(table);
  const auto what = registration(table, region);
  CHECK(table.ask(remote_write(), what.stag, address_of(what.address), 1) == "invalid");
  CHECK(!table.fast_register(kPd, what));
  CHECK(stag_of(region).value == ((what.stag.value & ~0xFFU) | 0x5A));
  CHECK(table.ask(remote_write(), what.stag, address_of(what.address), 1) == "invalid");
  CHECK(table.ask(remote_write(), stag_of(region), address_of(what.address), 20) == "granted");
  CHECK(table.ask(remote_write(), stag_of(region), address_of(what.address), 21) == "bounds");
  // Registers the same memory again, zero-based, after an invalidation.
  CHECK(table.fast_register(kPd, what) == Errc::kInvalidArgument);  // The region is still valid.
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kDone);
  auto zero = what;
  zero.stag = stag_of(region);
  zero.access = what.access | Access::kZeroBased;
  CHECK(!table.fast_register(kPd, zero));
  CHECK(table.ask(remote_write(), stag_of(region), 0, 20) == "granted");
}

TEST_CASE("a window is bound by the addresses of its region, and uses the same [VRB-36]") {
  for (const std::uint64_t iova : {std::uint64_t{0}, std::uint64_t{0x5000}, UINT64_MAX - 199}) {
    CAPTURE(iova);
    Table table;
    Region* region = table.add_at(iova);
    Region* opened = window(table);
    auto what = binding(opened, region);
    // A virtual address is outside the region's range of offsets.
    CHECK(table.bind(kPd, kQp, what) == Errc::kNotBindable);
    const auto at = [iova](std::uint64_t offset) {
      return reinterpret_cast<std::byte*>(iova + offset);
    };
    what.address = at(101);
    CHECK(table.bind(kPd, kQp, what) == Errc::kNotBindable);
    what.address = at(100);  // This binding includes the last octet of the region.
    CHECK(!table.bind(kPd, kQp, what));
    const auto grant = table.acquire(remote_write(), stag_of(opened), iova + 100, 100).value();
    CHECK(grant.memory().data() == region->address + 100);
    CHECK(table.ask(remote_write(), stag_of(opened), iova + 99, 1) == "bounds");
    CHECK(table.ask(remote_write(), stag_of(opened), iova + 200, 1) == "bounds");
  }
}

TEST_CASE("other rights, or another domain, apply from the next request with the same STag") {
  Table table;
  Region* region = table.add(Access::kRemoteWrite | Access::kLocalWrite | Access::kBindWindow);
  const Stag stag = stag_of(region);
  const auto at = address_of(region->address);
  AccessRequest read = remote_write();
  read.need = Access::kRemoteRead;
  CHECK(table.ask(read, stag, at, 1) == "right");
  CHECK(!table.change(region, kPd, Access::kRemoteRead));
  CHECK(stag_of(region) == stag);
  CHECK(table.ask(read, stag, at, 1) == "granted");
  CHECK(table.ask(remote_write(), stag, at, 1) == "right");
  CHECK(!table.change(region, kPd + 1, kAllRights));
  CHECK(table.ask(remote_write(), stag, at, 1) == "other stream");
  CHECK(table.ask(remote_write(kPd + 1), stag, at, 1) == "granted");
  Region* opened = window(table, kPd + 1);
  CHECK(!table.bind(kPd + 1, kQp, binding(opened, region)));
  CHECK(table.change(region, kPd, kAllRights) == Errc::kBusy);
  CHECK(table.ask(remote_write(kPd + 1), stag, at, 1) == "granted");
}

TEST_CASE("fast registration refuses other kinds and domains [VRB-1, VRB-28]") {
  Table table;
  Region* region = fast(table);
  const auto good = registration(table, region);
  const auto refused = [&](auto change, PdId pd = kPd) {
    auto what = good;
    change(what);
    CHECK(table.fast_register(pd, what) == Errc::kInvalidArgument);
    CHECK_FALSE(region->valid.load());
    CHECK(stag_of(region) == good.stag);
  };
  refused([](auto&) {}, 2);
  refused([](auto& r) { r.stag = Stag{0}; });
  refused([](auto& r) { r.stag.value += 0x100; });
  refused([&](auto& r) { r.stag = stag_of(table.add()); });
  refused([&](auto& r) { r.stag = stag_of(window(table)); });
  refused([](auto& r) { r.length = 0; });
  refused([](auto& r) { r.address = nullptr; });
  CHECK(!table.fast_register(kPd, good));
}

TEST_CASE("a registration or binding waits until no reader pins the entry") {
  Table table;
  Region* region = fast(table);
  // Holds a pin like a reader that has not yet checked whether the entry is valid.
  region->pins.fetch_add(1);
  CHECK(table.fast_register(kPd, registration(table, region)) == Errc::kBusy);
  region->pins.fetch_sub(1);
  CHECK(!table.fast_register(kPd, registration(table, region)));
  Region* opened = window(table);
  const Region* base = table.add();
  opened->pins.fetch_add(1);
  CHECK(table.bind(kPd, kQp, binding(opened, base)) == Errc::kBusy);
  opened->pins.fetch_sub(1);
  CHECK(!table.bind(kPd, kQp, binding(opened, base)));
}

// [IBV-136, IBV-193, IBV-199, IBV-203]
TEST_CASE("every rule of binding causes its own refusal, which changes nothing [VRB-35] [VRB-27]") {
  struct Row {
    const char* name;
    std::function<void(Table&, Region*, WindowBind&)> spoil;
    Errc error = Errc::kNotBindable;
  };
  const std::array rows{
      Row{"no window", [](Table&, Region*, WindowBind& b) { b.window = Stag{0}; }},
      Row{"a region as window",
          [](Table& t, Region*, WindowBind& b) { b.window = stag_of(t.add()); }},
      Row{"no region", [](Table&, Region*, WindowBind& b) { b.region = Stag{0}; }},
      Row{"the region's old key", [](Table&, Region*, WindowBind& b) { b.region.value ^= 1; }},
      Row{"a window as region",
          [](Table& t, Region*, WindowBind& b) { b.region = stag_of(window(t)); }},
      Row{"an invalid region",
          [](Table& t, Region* region, WindowBind&) {
            CHECK(t.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kDone);
          }},
      Row{"a region without the right",
          [](Table& t, Region*, WindowBind& b) { b.region = stag_of(t.add(Access::kLocalWrite)); }},
      Row{"a zero-based region",
          [](Table& t, Region*, WindowBind& b) {
            b.region = stag_of(t.add(kAllRights | Access::kZeroBased));
          }},
      Row{"remote write without local write",
          [](Table& t, Region*, WindowBind& b) { b.region = stag_of(t.add(Access::kBindWindow)); }},
      Row{"one octet in front",
          [](Table&, Region* region, WindowBind& b) { b.address = region->address - 1; }},
      Row{"one octet behind", [](Table&, Region*, WindowBind& b) { b.length = 151; }},
      Row{"nothing", [](Table&, Region*, WindowBind& b) { b.length = 0; }},
      Row{"a window of another domain",
          [](Table& t, Region*, WindowBind& b) { b.window = stag_of(window(t, 2)); },
          Errc::kWrongPd},
      Row{"a region of another domain",
          [](Table& t, Region*, WindowBind& b) { b.region = stag_of(t.add(kAllRights, 0, 2)); },
          Errc::kWrongPd},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Table table;
    Region* region = table.add();
    Region* opened = window(table);
    const Stag before = stag_of(opened);
    WindowBind what = binding(opened, region);
    row.spoil(table, region, what);
    CHECK(table.bind(kPd, kQp, what) == row.error);
    CHECK_FALSE(opened->valid.load());
    CHECK(stag_of(opened) == before);
    CHECK(region->bound_windows == 0);
  }
  Table table;
  Region* region = table.add();
  Region* opened = window(table);
  WindowBind what = binding(opened, region);
  what.length = 150;  // This binding includes the last octet of the region.
  CHECK(!table.bind(kPd, kQp, what));
  what.window = stag_of(opened);
  // The window is still valid, so the program must invalidate it first.
  CHECK(table.bind(kPd, kQp, what) == Errc::kNotBindable);
}

// [IBV-156, IBV-205]
TEST_CASE("which end may invalidate which STag [VRB-34] [RDMAP-58] [RDMAP-113] [SEC-28]") {
  struct Row {
    const char* name;
    Access access;
    QpNum tied_to;
    PdId pd;
    QpNum by;
    bool local;
    bool remote;
  };
  const std::array rows{
      Row{"region of the domain", kAllRights, 0, kPd, kQp, true, false},
      Row{"the same, with the right", kAllRights | Access::kRemoteInvalidate, 0, kPd, kQp, true,
          true},
      Row{"another domain", kAllRights | Access::kRemoteInvalidate, 0, 2, kQp, false, false},
      Row{"tied to this stream", kAllRights, kQp, kPd, kQp, true, true},
      Row{"tied to another stream", kAllRights | Access::kRemoteInvalidate, 8, kPd, kQp, false,
          false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    for (const bool remote : {false, true}) {
      Table table;
      Region* region = table.add(row.access, row.tied_to, row.pd);
      const bool allowed = remote ? row.remote : row.local;
      Stag wrong = stag_of(region);
      wrong.value ^= 0x80;
      CHECK(table.invalidate(kPd, row.by, wrong, remote) == Invalidated::kRefused);
      CHECK(table.invalidate(kPd, row.by, Stag{0}, remote) == Invalidated::kRefused);
      CHECK(table.invalidate(kPd, row.by, stag_of(region), remote) ==
            (allowed ? Invalidated::kDone : Invalidated::kRefused));
      CHECK(region->valid.load() == !allowed);
      if (!allowed) continue;
      // The second invalidation does nothing for the owner, and is refused for the peer.
      CHECK(table.invalidate(kPd, row.by, stag_of(region), remote) ==
            (remote ? Invalidated::kRefused : Invalidated::kDone));
    }
  }
}

// [IBV-148]
TEST_CASE("a region with bound windows can be neither invalidated nor destroyed [VRB-34]") {
  Table table;
  Region* region = table.add(kAllRights | Access::kRemoteInvalidate);
  Region* one = window(table);
  Region* two = window(table);
  CHECK(!table.bind(kPd, kQp, binding(one, region)));
  CHECK(!table.bind(kPd, 8, binding(two, region)));
  CHECK(region->bound_windows == 2);
  CHECK(one->valid.load());
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kRefused);
  CHECK(table.invalidate(kPd, kQp, stag_of(region), true) == Invalidated::kRefused);
  CHECK(table.destroy(region, [](Region&) {}) == Errc::kBusy);
  CHECK(region->valid.load());
  table.invalidate_windows_of(kQp);
  CHECK_FALSE(one->valid.load());
  CHECK(two->valid.load());
  table.drop(two);  // Destroying the window also releases its binding.
  CHECK(region->bound_windows == 0);
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kDone);
  table.drop(region);
}

TEST_CASE("invalidation of an STag in use completes when the last pin ends [VRB-34, SEC-14]") {
  Table table;
  Region* region = table.add(kAllRights, kQp);
  auto grant =
      table.acquire(remote_write(), stag_of(region), address_of(region->address), 8).value();
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kPinned);
  CHECK(table.ask(remote_write(), stag_of(region), address_of(region->address), 1) == "invalid");
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kPinned);
  grant.release();
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false) == Invalidated::kDone);
}

}  // namespace
}  // namespace iwarp::verbs
