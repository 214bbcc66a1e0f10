// SPDX-License-Identifier: Apache-2.0
// Tests that GIDs keep their indices while addresses are added and removed.
#include "device/gid_table.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

using namespace iwarp::rdma_core;

namespace {

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
