// SPDX-License-Identifier: Apache-2.0
// Tests the comparison with published results: required results match, predictions are marked as
// predictions, and mismatches are shown.
#include "iwarp/offload_model/published.hpp"

#include <doctest/doctest.h>

using namespace iwarp::offload_model;
using doctest::Approx;

namespace {

const std::vector<PublishedRow>& rows() {
  static const auto all = published_rows();
  REQUIRE_MESSAGE(all.has_value(), (all ? "" : all.error()));
  return *all;
}

}  // namespace

TEST_CASE("identities, calibrated rows and derived rows hold within their tolerance") {
  for (const auto& row : rows()) {
    CAPTURE(row.number);
    CHECK_FALSE(row.source.empty());
    if (row.use == Use::kPrediction || row.use == Use::kCliff) continue;
    for (const auto& check : row.checks) {
      INFO(check.what, ", model ", check.model);
      CHECK(row.holds(check));
      CHECK(check.band.low <= check.published);
      CHECK(check.published <= check.band.high);
    }
  }
}

TEST_CASE("at least thirty figures are predicted by a preset, each with an uncertainty band") {
  CHECK(tally(rows())[Use::kPrediction].figures >= 30);
  for (const auto& row : rows()) {
    if (row.use != Use::kPrediction) continue;
    CAPTURE(row.number);
    CHECK_FALSE(row.preset.empty());
    for (const auto& check : row.checks) {
      CAPTURE(check.what);
      // Rounding aside: the band has no width if only definitions, such as the link, matter.
      CHECK(check.band.low < check.model * 1.0001);
      CHECK(check.model < check.band.high * 1.0001);
      CHECK((check.agrees() || !row.reason.empty()));
    }
  }
}

TEST_CASE("no prediction uses a value that was chosen to match its figure") {
  for (const auto& row : rows()) {
    if (row.use != Use::kPrediction && row.use != Use::kCliff) continue;
    CAPTURE(row.number);
    const auto set = preset(row.preset).value();
    const auto name = row.source.substr(0, row.source.find_first_of(",;"));
    for (const auto& [key, value] : set.values) {
      CAPTURE(key);
      CHECK(value.source.find(name) == std::string::npos);
    }
  }
}

TEST_CASE("the number where throughput falls is within a factor of 1.5 on at least three curves") {
  CHECK(tally(rows())[Use::kCliff].hold >= 3);
  for (const auto& row : rows()) {
    if (row.use != Use::kCliff) continue;
    CAPTURE(row.number);
    for (const auto& check : row.checks) {
      CHECK(check.band.high / check.published == Approx(1.5));
      CHECK(check.published / check.band.low == Approx(1.5));
      CHECK_FALSE(row.reason.empty());
    }
  }
}

TEST_CASE("figures are classified by what they prove, and counted by class") {
  const auto tallies = tally(rows());
  CHECK(tallies[Use::kIdentity].figures == 7);
  CHECK(tallies[Use::kCalibrated].figures == 8);
  CHECK(tallies[Use::kDerived].figures == 4);
  CHECK(tallies.limits.figures == 1);
  CHECK(tallies.held_out.figures == 13);
  const auto& predictions = tallies[Use::kPrediction];
  CHECK(predictions.hold >= 24);
  CHECK(predictions.hold < predictions.figures);
  CHECK(tallies.inside < predictions.figures);
}

TEST_CASE("a match must be near and narrow: a wide band is none, however well its middle fits") {
  Check check{.published = 100, .model = 125, .band = {90, 125, 170}};
  CHECK(check.miss() == Approx(0.25));
  CHECK(check.agrees());
  check.model = 126;
  CHECK_FALSE(check.agrees());
  check.model = 74;
  CHECK_FALSE(check.agrees());
  check.model = 100;
  check.band = {28, 50, 91};
  CHECK_FALSE(check.agrees());
  check.band = {50, 70, 100};
  CHECK(check.agrees());
}

TEST_CASE("a limit holds if the whole band is within it") {
  Check check{.published = 5, .model = 1, .at_most = true, .band = {0.5, 1, 4.9}};
  CHECK(check.agrees());
  check.band.high = 5.1;
  CHECK_FALSE(check.agrees());
}
