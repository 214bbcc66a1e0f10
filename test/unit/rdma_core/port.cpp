// SPDX-License-Identifier: Apache-2.0
// Tests that a LID or GID maps back to the address from which it was made, and that GIDs keep their
// indices while addresses are added and removed.
#include "device/port.hpp"

#include <doctest/doctest.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <ranges>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "device/spec.hpp"

using namespace iwarp::rdma_core;

namespace {

/// Returns the port of the only device of a process that runs with these settings.
Port port_as(Persona persona, bool list_loopback = false) {
  return look_at_port(device_specs({.persona = persona, .list_loopback = list_loopback}).front());
}

bool same(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

ibv_gid gid(int n) { return {.raw = {0xFD, static_cast<std::uint8_t>(n)}}; }

/// Assigns an index to each address of a host; numbers stand for addresses. Returns the number at
/// each index, 0 if the index has no address.
std::vector<int> arranged(GidTable& table, std::initializer_list<int> numbers) {
  Port port;
  for (const int n : numbers) {
    port.gids.push_back(
        {.gid = gid(n), .ip = gid(n), .interface = 100U + static_cast<unsigned>(n)});
  }
  table.arrange(port);
  std::vector<int> out;
  for (const PortGid& entry : port.gids) {
    const int n = entry.is_free() ? 0 : entry.gid.raw[1];
    CHECK_EQ(entry.interface, n == 0 ? 0U : 100U + static_cast<unsigned>(n));
    out.push_back(n);
  }
  return out;
}

using Places = std::vector<int>;

}  // namespace

TEST_CASE("the first GID looks like that of an RNIC and encodes the port's address") {
  const Port port = port_as(Persona::kIwarp);
  REQUIRE_FALSE(port.gids.empty());
  const ibv_gid& gid = port.gids.front().gid;
  CHECK(gid.raw[0] == 0x02);
  CHECK(gid.raw[1] == 0x00);
  CHECK(std::all_of(gid.raw + 6, gid.raw + 16, [](auto octet) { return octet == 0; }));
  const auto address = address_of(gid, {}).value();
  CHECK(same(address, port.gids.front().ip));
  CHECK(address.raw[10] == 0xFF);
  CHECK(address.raw[11] == 0xFF);
  CHECK((address.raw[14] << 8 | address.raw[15]) == port.lid);
  CHECK(port.mtu > 0);
}

TEST_CASE("the other GIDs are the host's addresses and map back to themselves") {
  const Port port = port_as(Persona::kIwarp);
  CHECK(port.gids.size() <= kMaxGids);
  for (std::size_t i = 1; i < port.gids.size(); ++i) {
    const ibv_gid& gid = port.gids[i].gid;
    const auto address = address_of(gid, {}).value();
    CHECK(same(address, gid));
    CHECK(same(port.gids[i].ip, gid));
  }
}

TEST_CASE("a GID of zeros stands for no address") { CHECK_FALSE(address_of(ibv_gid{}, {})); }

TEST_CASE("as RoCE there is no LID, and each GID is an address of a known interface") {
  const Port port = port_as(Persona::kRoce);
  CHECK(port.lid == 0);
  CHECK(port.guid != 0);
  REQUIRE_FALSE(port.gids.empty());
  for (const auto& [gid, ip, interface, type] : port.gids) {
    const auto address = address_of(gid, {}).value();
    CHECK(same(address, gid));
    CHECK(same(ip, gid));
    CHECK(interface != 0);
    CHECK(type == GidType::kV2);
  }
  CHECK(port.gids.front().interface == ::if_nametoindex(port.interface.c_str()));
}

TEST_CASE("as RoCE, loopback addresses have GIDs if there are no others, or last on request") {
  const Port port = port_as(Persona::kRoce);
  const Port with_loopback = port_as(Persona::kRoce, true);
  const unsigned loopback = ::if_nametoindex(kLoopback);
  const auto count = std::ranges::count(with_loopback.gids, loopback, &PortGid::interface);
  if (port.interface == kLoopback) {
    CHECK(count == std::ssize(port.gids));
    return;
  }
  CHECK(std::ranges::find(port.gids, loopback, &PortGid::interface) == port.gids.end());
  CHECK(with_loopback.gids.size() == port.gids.size() + static_cast<std::size_t>(count));
  CHECK(std::ranges::equal(port.gids, with_loopback.gids | std::views::take(port.gids.size()), same,
                           &PortGid::gid, &PortGid::gid));
}

TEST_CASE("as RoCE, the GIDs of an interface are adjacent, IPv4 before IPv6") {
  const Port port = port_as(Persona::kRoce);
  const auto kind = [&](std::size_t i) {
    const auto* raw = port.gids[i].gid.raw;
    if (raw[10] == 0xFF && raw[11] == 0xFF) return 1;
    const bool made_of_mac = raw[0] == 0xFE && raw[1] == 0x80 && raw[11] == 0xFF && raw[12] == 0xFE;
    return made_of_mac ? 0 : 2;
  };
  std::vector<unsigned> seen;
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    if (i != 0 && port.gids[i].interface == port.gids[i - 1].interface) {
      CHECK(kind(i) >= kind(i - 1));
      continue;
    }
    CHECK(std::ranges::find(seen, port.gids[i].interface) == seen.end());
    seen.push_back(port.gids[i].interface);
  }
}

TEST_CASE("a group is joined on each interface with multicast and an address of its family") {
  const ibv_gid v4{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 1}};
  const ibv_gid v6{.raw = {0x20, 0x01, 0x0D, 0xB8}};
  Port port;
  CHECK(interfaces_of_groups(port, true) == std::vector{0U});
  for (const auto& [ip, interface] :
       {std::pair(v4, 2U), {v4, 2}, {v6, 3}, {v4, 4}, {v6, 4}, {v4, 1}}) {
    port.gids.push_back({.gid = ip, .ip = ip, .interface = interface});
  }
  port.multicast = {4, 3, 2};
  CHECK(interfaces_of_groups(port, true) == std::vector{2U, 4U});
  CHECK(interfaces_of_groups(port, false) == std::vector{3U, 4U});
  port.multicast = {3};
  CHECK(interfaces_of_groups(port, true) == std::vector{2U});
}

TEST_CASE("the speed and the MTU of a link are those that the kernel reports") {
  struct Case {
    unsigned speed, mtu;
    int width, active_speed;  // as verbs.h encodes them, for example width 2 for 4X
    ibv_mtu active_mtu_of_roce;
  };
  for (const auto& [speed, mtu, width, active_speed, active_mtu_of_roce] :
       {Case{0, 1500, 1, 1, IBV_MTU_1024}, Case{1000, 1103, 1, 1, IBV_MTU_512},
        Case{10000, 1104, 1, 8, IBV_MTU_1024}, Case{20000, 9000, 2, 2, IBV_MTU_4096},
        Case{25000, 4175, 1, 32, IBV_MTU_2048}, Case{40000, 4176, 2, 8, IBV_MTU_4096},
        Case{100000, 65536, 2, 32, IBV_MTU_4096}, Case{10, 68, 1, 1, IBV_MTU_256}}) {
    CAPTURE(speed);
    Port port;
    port.persona = Persona::kRoce;
    port.mtu = mtu;
    CHECK(link_speed(speed).width == width);
    CHECK(link_speed(speed).speed == active_speed);
    CHECK(active_mtu_of_roce == active_mtu(port));
  }
}

// [IBV-113]
TEST_CASE("a GID keeps its index while others are added in front of it, removed, and added again") {
  GidTable table;
  CHECK((arranged(table, {1, 2}) == Places{1, 2}));
  CHECK((arranged(table, {7, 1, 2}) == Places{1, 2, 7}));
  CHECK((arranged(table, {7, 2}) == Places{0, 2, 7}));
  CHECK((arranged(table, {7, 2}) == Places{0, 2, 7}));
  CHECK((arranged(table, {9, 8, 7, 2}) == Places{9, 2, 7, 8}));
  CHECK((arranged(table, {}) == Places{0, 0, 0, 0}));
  CHECK((arranged(table, {8}) == Places{8, 0, 0, 0}));
}

TEST_CASE("the table accepts no more GIDs than its limit") {
  GidTable table;
  Port port;
  for (int n = 0; n < 2 * kMaxGids; ++n) {
    port.gids.push_back({.gid = gid(n + 1), .ip = gid(n + 1), .interface = 1});
  }
  table.arrange(port);
  CHECK_EQ(port.gids.size(), kMaxGids);
}
