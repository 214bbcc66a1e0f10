// SPDX-License-Identifier: Apache-2.0
// Tests how addresses are parsed from HOST:PORT and printed.
#include "iwarp/net/address.hpp"

#include <doctest/doctest.h>

#include <ostream>

#include "iwarp/verbs/errors.hpp"

using namespace iwarp::net;

TEST_CASE("an address is read with and without a port") {
  const auto is = [](std::string_view text, const Address& expected) {
    const auto got = parse_address(text, 7);
    REQUIRE(got.has_value());
    CHECK_EQ(*got, expected);
  };
  is("host", {"host", 7});
  is("host:18515", {"host", 18515});
  is("10.0.0.1:65535", {"10.0.0.1", 65535});
  is(":80", {"", 80});
  is("", {"", 7});
  is("[::1]", {"::1", 7});
  is("[fe80::1%eth0]:0", {"fe80::1%eth0", 0});
  is("fe80::1", {"fe80::1", 7});
}

TEST_CASE("text that is not an address is refused") {
  for (const char* text : {"host:", "host:65536", "host:-1", "host:1x", "[::1", "[]", "[]:1",
                           "[::1]x", "[::1]1", "a b", "[a]b]:1", "a/b"}) {
    CAPTURE(text);
    const auto got = parse_address(text, 7);
    REQUIRE_FALSE(got.has_value());
    CHECK_EQ(got.error(), make_error_code(iwarp::verbs::Errc::kAddressInvalid));
  }
}

TEST_CASE("an address is written so that it can be read again") {
  for (const Address& address :
       {Address{"host", 1}, Address{"127.0.0.1", 65535}, Address{"::1", 18515}, Address{"", 9}}) {
    const auto again = parse_address(to_string(address), 0);
    REQUIRE(again.has_value());
    CHECK_EQ(*again, address);
  }
}
