// SPDX-License-Identifier: Apache-2.0
// Tests what a connection negotiates by default: it offers the extensions of RFC 7306, rounds IRD
// to a power of two, and does not change the program's private data.
#include "support.hpp"

namespace iwarp::test {
namespace {

bool agreed(const End& end) { return end.connection->startup().negotiated().extensions; }

TEST_CASE(
    "two connections with default options agree on RFC 7306, and each can refuse it [EXT-1]") {
  for (const bool a_wants : {false, true}) {
    for (const bool b_wants : {false, true}) {
      ConnectionOptions a;
      ConnectionOptions b;
      if (!a_wants) a.startup.extensions = false;
      if (!b_wants) b.startup.extensions = false;
      Connected pair(a, b);
      CHECK(agreed(*pair.a) == (a_wants && b_wants));
      CHECK(agreed(*pair.b) == (a_wants && b_wants));
    }
  }
}

TEST_CASE(
    "each program sees only the other's private data, in both directions and in a rejection") {
  const std::array<std::byte, 3> data{std::byte{1}, std::byte{2}, std::byte{3}};
  for (const bool accept : {true, false}) {
    Pair pair;
    REQUIRE(pair.a->connection->connect(data, pair.a->now));
    pair.run();
    REQUIRE(pair.b->event() == ConnectionEventType::kRequest);
    CHECK(std::ranges::equal(pair.b->connection->startup().peer_private_data(), data));
    const auto answer = bytes::View(data).first(2);
    REQUIRE((accept ? pair.b->connection->accept(*pair.b->qp, answer, 16, 16, pair.b->now)
                    : pair.b->connection->reject(answer, pair.b->now)));
    pair.run();
    CHECK(std::ranges::equal(pair.a->connection->startup().peer_private_data(), answer));
    CHECK(agreed(*pair.a) == accept);
  }
}

TEST_CASE("both ends offer a power of two as the number of Reads") {
  ConnectionOptions options;
  options.startup.ird = 7;
  options.startup.ord = 7;
  Pair pair(options);
  REQUIRE(pair.establish(5, 5));
  CHECK(pair.b->connection->startup().peer_offer()->ird == 4);
  CHECK(pair.b->connection->startup().peer_offer()->ord == 7);
  CHECK(pair.a->connection->startup().peer_offer()->ird == 4);
  CHECK(pair.a->qp->query().ord == 4);
  CHECK(pair.b->qp->query().ord == 4);
}

}  // namespace
}  // namespace iwarp::test
