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

TEST_CASE("a thread whose polls find completions does not yield, however often it polls") {
  YieldPolicy yield_policy;
  for (unsigned i = 0; i < 4 * YieldPolicy::kMany; ++i) {
    CHECK_FALSE(yield_policy.polled(i % (YieldPolicy::kMany - 1) == 0));
  }
}

TEST_CASE("after a yield to a thread that soon yields back, the next comes after a few polls") {
  YieldPolicy yield_policy;
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kMany);
  yield_policy.yielded(YieldPolicy::kNobody);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
  yield_policy.yielded(YieldPolicy::kSlice - 1ns);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
}

TEST_CASE("after a yield that no other thread used, the next yield comes after many polls") {
  YieldPolicy yield_policy;
  yield_policy.yielded(20us);
  yield_policy.yielded(YieldPolicy::kNobody - 1ns);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kMany);
}

TEST_CASE("after a yield that cost a time slice, the next waits for a longer silence") {
  YieldPolicy yield_policy;
  yield_policy.yielded(YieldPolicy::kSlice);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kRoundTrip);
  yield_policy.yielded(20us);
  CHECK(polls_until_yield(yield_policy) == YieldPolicy::kFew);
}
