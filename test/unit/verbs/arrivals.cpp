// SPDX-License-Identifier: Apache-2.0
// Tests which sequence numbers are accepted from each sender of datagrams.
#include "iwarp/verbs/arrivals.hpp"

#include <doctest/doctest.h>

namespace iwarp::verbs {
namespace {

constexpr IpAddress kSomebody{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2};

TEST_CASE("each number of a sender is accepted once, in any order, unless it is too old") {
  Arrivals arrivals;
  const DatagramSender sender{.ip = kSomebody, .qp = 1, .instance = 1};
  const DatagramSender other{.ip = kSomebody, .qp = 1, .instance = 2};
  for (const std::uint32_t start : {1U, 0xFFFFFF00U}) {
    arrivals.clear();
    CHECK(arrivals.take(sender, start + 10));
    CHECK(arrivals.take(sender, start));  // This datagram is late.
    CHECK(arrivals.take(other, start));
    for (std::uint32_t i = 0; i != 2000; ++i) {
      CHECK(arrivals.take(sender, start + i) == (i != 0 && i != 10));
      CHECK_FALSE(arrivals.take(sender, start + i));
    }
    CHECK_FALSE(arrivals.take(sender, start + 1999 - Arrivals::kWindow));
    CHECK(arrivals.take(sender, start + 100000));
    CHECK(arrivals.take(sender, start + 100000 - Arrivals::kWindow + 1));
    CHECK_FALSE(arrivals.take(sender, start + 1999));
  }
}

TEST_CASE("256 senders are remembered at a time, and none of their numbers is accepted twice") {
  constexpr std::uint32_t kSenders = 256;
  Arrivals arrivals;
  std::uint32_t msn = 1;
  const auto of = [](std::uint32_t n) {
    return DatagramSender{.ip = kSomebody, .qp = 0x800000 | n, .instance = n * 0x9E3779B1};
  };
  for (std::uint32_t n = 0; n != kSenders; ++n) CHECK(arrivals.take(of(n), msn));
  for (std::uint32_t n = 0; n != kSenders; ++n) CHECK_FALSE(arrivals.take(of(n), msn));
  ++msn;
  CHECK(arrivals.take(of(0), msn));
  for (std::uint32_t n = 1; n != kSenders; ++n) CHECK(arrivals.take(of(n), msn));
  CHECK_FALSE(arrivals.take(of(0), msn));
  // One more sender evicts the least recently heard sender, and no other.
  CHECK(arrivals.take(of(kSenders), msn));
  for (std::uint32_t n = 2; n <= kSenders; ++n) CHECK_FALSE(arrivals.take(of(n), msn));
  CHECK_FALSE(arrivals.take(of(0), msn));
  CHECK(arrivals.take(of(1), msn));
}

}  // namespace
}  // namespace iwarp::verbs
