// SPDX-License-Identifier: Apache-2.0
// LID and GIDs lead back to the addresses they were made of.
#include "port.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace iwarp::rdma_core;

namespace {

bool same(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

}  // namespace

TEST_CASE("the first GID looks like that of an RNIC and names the port's address") {
  const Port port = look_at_port();
  REQUIRE_FALSE(port.gids.empty());
  const ibv_gid& gid = port.gids.front();
  CHECK(gid.raw[0] == 0x02);
  CHECK(gid.raw[1] == 0x00);
  CHECK(std::all_of(gid.raw + 6, gid.raw + 16, [](auto octet) { return octet == 0; }));
  const auto address = address_of(gid);
  REQUIRE(address);
  CHECK(address->raw[10] == 0xFF);
  CHECK(address->raw[11] == 0xFF);
  CHECK((address->raw[14] << 8 | address->raw[15]) == port.lid());
  CHECK(port.mtu > 0);
}

TEST_CASE("the other GIDs are the host's addresses and stand for themselves") {
  const Port port = look_at_port();
  CHECK(port.gids.size() <= kMaxGids);
  for (auto gid = port.gids.begin() + 1; gid != port.gids.end(); ++gid) {
    const auto address = address_of(*gid);
    REQUIRE(address);
    CHECK(same(*address, *gid));
  }
}

TEST_CASE("a GID of zeros stands for no address") { CHECK_FALSE(address_of(ibv_gid{})); }
