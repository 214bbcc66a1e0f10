// SPDX-License-Identifier: Apache-2.0
// Tests how the program's port numbers map to TCP ports, at both ends of the range.
#include <doctest/doctest.h>

#include <vector>

#include "cm/ports.hpp"
#include "process/settings.hpp"

using namespace iwarp::rdma_core;

TEST_CASE("without an offset each port is its own TCP port") {
  for (const unsigned number : {0U, 1U, 7471U, 65535U}) {
    const auto port = static_cast<std::uint16_t>(number);
    CHECK(PortMap(0).has_tcp(port));
    CHECK(PortMap(0).tcp(port) == port);
    CHECK(PortMap(0).program(port) == port);
  }
}

TEST_CASE("an offset is added to the program's port, and port 0 stays 0") {
  CHECK(PortMap(1000).tcp(7471) == 8471);
  CHECK(PortMap(1000).program(8471) == 7471);
  CHECK(PortMap(1000).tcp(0) == 0);
  CHECK(PortMap(1000).program(0) == 0);
}

TEST_CASE("the last port that an offset leaves in range has a TCP port, the next has none") {
  CHECK(PortMap(1000).has_tcp(64535));
  CHECK_FALSE(PortMap(1000).has_tcp(64536));
  CHECK(PortMap(kMaxPortOffset).has_tcp(1024));
  CHECK_FALSE(PortMap(kMaxPortOffset).has_tcp(1025));
  CHECK(PortMap(kMaxPortOffset).has_tcp(0));
}

TEST_CASE("each TCP port has a port number of its own that maps back to it, whatever the offset") {
  for (const unsigned number : {0U, 1U, 1000U, 32768U, unsigned{kMaxPortOffset}}) {
    CAPTURE(number);
    const auto offset = static_cast<std::uint16_t>(number);
    const PortMap ports(offset);
    std::vector<bool> seen(65536);
    for (std::uint32_t tcp = 1; tcp < seen.size(); ++tcp) {
      const auto shown = ports.program(static_cast<std::uint16_t>(tcp));
      const bool fresh = shown != 0 && !seen[shown];
      seen[shown] = true;
      if (!fresh || ports.tcp(shown) != tcp || ports.has_tcp(shown) != (tcp > offset)) {
        FAIL("TCP port ", tcp, " is shown as ", shown);
      }
    }
  }
}

TEST_CASE("a port that the library chooses needs no root, however large the offset") {
  for (const std::uint16_t offset : {std::uint16_t{1000}, std::uint16_t{60000}, kMaxPortOffset}) {
    CAPTURE(offset);
    const auto bound = PortMap(offset).bind({.host = "127.0.0.1"}, {}).value();
    CHECK(bound.local().port - offset >= 1024);
  }
}

TEST_CASE("a range consists of TCP ports, and those not above the offset are excluded") {
  const iwarp::net::Address any{.host = "127.0.0.1"};
  const auto bound = PortMap(30000).bind(any, {.first = 29000, .last = 30200}).value();
  CHECK(bound.local().port > 30000);
  CHECK(bound.local().port <= 30200);
  const auto none = PortMap(30000).bind(any, {.first = 29000, .last = 30000});
  REQUIRE_FALSE(none);
  CHECK(none.error() == std::errc::address_not_available);
}
