// SPDX-License-Identifier: Apache-2.0
// Tests when a thread yields the processor because its polls return nothing.
#include "objects/yield_policy.hpp"

#include <doctest/doctest.h>

using namespace iwarp::rdma_core;  // NOLINT
using namespace std::chrono_literals;

namespace {

// Returns the number of fruitless polls after which the policy lets the thread yield.
unsigned polls_until_yield(YieldPolicy& yield_policy) {
  unsigned polls = 1;
  while (!yield_policy.polled(false)) ++polls;
  return polls;
}

}  // namespace

TEST_CASE("who finds something does not yield, however often it polls") {
  YieldPolicy yield_policy;
  for (unsigned i = 0; i < 4 * YieldPolicy::kMany; ++i) {
    CHECK_FALSE(yield_policy.polled(i % (YieldPolicy::kMany - 1) == 0));
  }
}

TEST_CASE("a yield to somebody who gives the processor back is repeated after a few polls") {
  YieldPolicy yield_policy;
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kMany);
  yield_policy.yielded(YieldPolicy::kNobody);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
  yield_policy.yielded(YieldPolicy::kSlice - 1ns);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
}

TEST_CASE("a yield that found nobody is repeated after many polls") {
  YieldPolicy yield_policy;
  yield_policy.yielded(20us);
  yield_policy.yielded(YieldPolicy::kNobody - 1ns);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kMany);
}

TEST_CASE(
    "a yield that cost a slice is repeated when the peer is away for longer than a round trip") {
  YieldPolicy yield_policy;
  yield_policy.yielded(YieldPolicy::kSlice);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kRoundTrip);
  yield_policy.yielded(20us);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
}
