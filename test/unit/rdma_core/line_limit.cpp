// SPDX-License-Identifier: Apache-2.0
// LineLimit: which log lines of failed calls are written, at times that the test chooses.
#include <doctest/doctest.h>

#include "process/refusal.hpp"

using namespace std::chrono_literals;
using iwarp::rdma_core::LineLimit;

TEST_CASE("a line about a failed call is written once") {
  LineLimit limit;
  const LineLimit::TimePoint now{100s};
  CHECK(limit.admits(1, now));
  CHECK_FALSE(limit.admits(1, now));
  CHECK_FALSE(limit.admits(1, now + 1h));
  CHECK(limit.admits(2, now));
}

TEST_CASE("at most ten lines are written in a second, and the others when they come up again") {
  LineLimit limit;
  const LineLimit::TimePoint now{100s};
  for (std::size_t line = 1; line <= 10; ++line) CHECK(limit.admits(line, now));
  CHECK_FALSE(limit.admits(11, now + 1s - 1ns));
  CHECK(limit.admits(11, now + 1s));
}
