// SPDX-License-Identifier: Apache-2.0
// Tests when a connection reads the clock.
#include "support.hpp"

using namespace iwarp;
using namespace iwarp::test;

namespace {

int looks = 0;

mpa::TimePoint look() {
  ++looks;
  return {};
}

/// Carries the output of `from` to `to`. Both use a clock that counts how often it is read.
void carry_by_clock(End& from, End& to) {
  std::vector<std::byte> octets;
  const verbs::Now sending(look);
  for (const bytes::View piece : from.connection->transmit_plan(64, sending)) {
    octets.insert(octets.end(), piece.begin(), piece.end());
  }
  REQUIRE_FALSE(octets.empty());
  from.connection->transmitted(octets.size(), sending);
  const auto plan = to.connection->receive_plan();
  REQUIRE_GE(plan.front().size(), octets.size());
  std::ranges::copy(octets, plan.front().begin());
  to.connection->received(octets.size(), verbs::Now(look));
}

void send_one(Pair& pair) {
  post_recv(*pair.b, 1, sge(pair.b->memory(64, Access::kLocalWrite), 0, 64));
  post_send(*pair.a, 2, sge(pair.a->memory(64, Access::kLocalWrite), 0, 64));
  looks = 0;
  carry_by_clock(*pair.a, *pair.b);
  CHECK(text(pair.b->completions()) == "1 success");
}

}  // namespace

TEST_CASE("a connection reads the clock only if it needs the time, and then once") {
  looks = 0;
  const verbs::Now never(look);
  CHECK(looks == 0);
  const verbs::Now now(look);
  (void)static_cast<mpa::TimePoint>(now);
  (void)static_cast<mpa::TimePoint>(now);
  CHECK(looks == 1);
}

TEST_CASE("a message on an open stream needs no time") {
  Connected pair;
  send_one(pair);
  send_one(pair);
  CHECK(looks == 0);
}
