// SPDX-License-Identifier: Apache-2.0
// Compares GrowingRing, the ring of a work queue, with a deque.
#include "iwarp/verbs/growing_ring.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

namespace iwarp::verbs {
namespace {

TEST_CASE("a ring keeps its order while it grows, wraps around and loses elements") {
  std::mt19937 random(7);
  GrowingRing<int> ring;
  std::deque<int> expected;
  for (int value = 0; value < 20000; ++value) {
    const auto what = random() % 16;
    if (what < 9) {
      REQUIRE(ring.make_room());
      ring.push_back() = value;
      expected.push_back(value);
    } else if (what < 15) {
      const auto count = random() % (expected.size() + 1) % 4;
      ring.pop_front(count);
      expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      const auto goes = [divisor = 2 + static_cast<int>(random() % 5)](int i) {
        return i % divisor == 0;
      };
      ring.erase_if(goes);
      std::erase_if(expected, goes);
    }
    REQUIRE(ring.size() == expected.size());
    REQUIRE(ring.empty() == expected.empty());
    if (!ring.empty()) REQUIRE(ring.front() == expected.front());
    for (std::size_t i = 0; i < ring.size(); ++i) REQUIRE(ring[i] == expected[i]);
  }
  ring.clear();
  CHECK(ring.empty());
}

}  // namespace
}  // namespace iwarp::verbs
