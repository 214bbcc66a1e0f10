// SPDX-License-Identifier: Apache-2.0
// Maps the program's port numbers to TCP's, at both ends of the range.
#include <doctest/doctest.h>

#include <vector>

#include "cm/ports.hpp"
#include "process/settings.hpp"

using namespace iwarp::rdma_core;

TEST_CASE("without an offset each port is its own TCP port") {
  for (const unsigned number : {0U, 1U, 7471U, 65535U}) {
    const auto port = static_cast<std::uint16_t>(number);
    CHECK(has_tcp_port(port, 0));
    CHECK(tcp_port(port, 0) == port);
    CHECK(program_port(port, 0) == port);
  }
}

TEST_CASE("an offset is added to the program's port, and any port stays any port") {
  CHECK(tcp_port(7471, 1000) == 8471);
  CHECK(program_port(8471, 1000) == 7471);
  CHECK(tcp_port(0, 1000) == 0);
  CHECK(program_port(0, 1000) == 0);
}

TEST_CASE("the last port that an offset leaves in range has a TCP port, the next has none") {
  CHECK(has_tcp_port(64535, 1000));
  CHECK_FALSE(has_tcp_port(64536, 1000));
  CHECK(has_tcp_port(1024, kMaxPortOffset));
  CHECK_FALSE(has_tcp_port(1025, kMaxPortOffset));
  CHECK(has_tcp_port(0, kMaxPortOffset));
}

TEST_CASE("each TCP port has a number of its own that leads back, whatever the offset") {
  for (const unsigned number : {0U, 1U, 1000U, 32768U, unsigned{kMaxPortOffset}}) {
    CAPTURE(number);
    const auto offset = static_cast<std::uint16_t>(number);
    std::vector<bool> seen(65536);
    for (std::uint32_t tcp = 1; tcp < seen.size(); ++tcp) {
      const auto shown = program_port(static_cast<std::uint16_t>(tcp), offset);
      const bool fresh = shown != 0 && !seen[shown];
      seen[shown] = true;
      if (!fresh || tcp_port(shown, offset) != tcp ||
          has_tcp_port(shown, offset) != (tcp > offset)) {
        FAIL("TCP port ", tcp, " is shown as ", shown);
      }
    }
  }
}

TEST_CASE("a port left to us has a number that needs no root, however large the offset") {
  for (const std::uint16_t offset : {std::uint16_t{1000}, std::uint16_t{60000}, kMaxPortOffset}) {
    CAPTURE(offset);
    const auto bound = bind_above(offset, {.host = "127.0.0.1"}, {});
    REQUIRE(bound);
    CHECK(bound->local().port - offset >= 1024);
  }
}

TEST_CASE("a range is of TCP ports, and what is not above the offset is left out of it") {
  const iwarp::net::Address any{.host = "127.0.0.1"};
  const auto bound = bind_above(30000, any, {.first = 29000, .last = 30200});
  REQUIRE(bound);
  CHECK(bound->local().port > 30000);
  CHECK(bound->local().port <= 30200);
  const auto none = bind_above(30000, any, {.first = 29000, .last = 30000});
  REQUIRE_FALSE(none);
  CHECK(none.error() == std::errc::address_not_available);
}
