// SPDX-License-Identifier: Apache-2.0
// The published rows: identities exact, the rest within its tolerance, known misses still misses.
#include "iwarp/offload_model/published.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace iwarp::offload_model;

TEST_CASE(
    "identities, calibrated and predicted rows hold; misses are the known ones, with reasons") {
  const auto rows = published_rows();
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error()));
  CHECK(rows->size() == 12);
  const std::set<int> misses{5, 12};
  for (const auto& row : *rows) {
    CAPTURE(row.number);
    for (const auto& check : row.checks) {
      CAPTURE(check.what);
      CAPTURE(check.model);
      if (!misses.contains(row.number)) CHECK(check.holds());
      CHECK(check.low <= check.published);
      CHECK(check.published <= check.high);
    }
    if (row.use == Use::kIdentity) CHECK(row.holds());
    if (!row.holds()) CHECK_FALSE(row.reason.empty());
    CHECK(row.holds() == !misses.contains(row.number));
    CHECK_FALSE(row.source.empty());
  }
}

TEST_CASE("a row holds only if each of its checks does") {
  PublishedRow row;
  row.checks = {{.low = 1, .high = 2, .model = 1}, {.low = 1, .high = 2, .model = 2}};
  CHECK(row.holds());
  row.checks[1].model = 2.01;
  CHECK_FALSE(row.holds());
}
