// SPDX-License-Identifier: Apache-2.0
// Figures that others have published, and what this model computes for them. Only a prediction,
// made from a preset none of whose values comes from the figure, is evidence for the model. Rows by
// which a preset was chosen, and rows that add up a paper's own numbers, are marked and counted
// separately.
#pragma once

#include <cmath>
#include <expected>
#include <string>
#include <vector>

#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::offload_model {

/// What a row proves.
enum class Use {
  kIdentity,    ///< only that the arithmetic is right
  kCalibrated,  ///< nothing: a value of the preset was chosen to match
  kDerived,     ///< that the paper's own numbers add up
  kPrediction,  ///< that the model predicts the figure
};
/// Returns "identity", "calibrated", "derived" or "prediction".
std::string_view to_string(Use use);

/// When a prediction agrees with its figure: the same for every figure, fixed before the
/// comparison.
struct Criterion {
  double miss = 0.25;  ///< largest error relative to the published value
  double band = 2;     ///< largest ratio of the ends of the 90 % band: a wider one means nothing
};
inline constexpr Criterion kCriterion;

/// One number of a row.
struct Check {
  std::string what;
  std::string unit;
  double published = 0;
  double model = 0;
  // Unless the row is a prediction: the published value with its tolerance.
  double low = 0;
  double high = 0;
  // If it is one:
  bool at_most = false;  ///< the source gives a limit, not a value
  Band band{};           ///< by the uncertainties of the preset

  /// Returns the relative error of the model; negative if it is too low.
  double miss() const { return model / published - 1; }
  /// Returns whether the model is within the tolerance of the published value.
  bool in_tolerance() const { return model >= low && model <= high; }
  /// Returns whether the error is within the criterion.
  bool near() const { return std::abs(miss()) <= kCriterion.miss; }
  /// Returns whether the band is within the criterion.
  bool narrow() const { return band.low > 0 && band.high / band.low <= kCriterion.band; }
  /// Returns whether a prediction agrees with the published value or limit.
  bool agrees() const { return at_most ? band.high <= published : near() && narrow(); }
};

/// One published figure with all its numbers.
struct PublishedRow {
  int number = 0;
  Use use = Use::kIdentity;
  std::string figure;  ///< what was published, in a few words
  std::string source;
  std::string mark;    ///< of marks()
  std::string preset;  ///< empty: the row has its own inputs
  std::vector<Check> checks;
  std::string reason;  ///< how to read it, or why the model misses it

  /// Returns whether one of its checks holds, by the rule for its use.
  bool holds(const Check& check) const {
    return use == Use::kPrediction ? check.agrees() : check.in_tolerance();
  }
};

/// Computes all rows. On failure returns what is wrong with the data file.
std::expected<std::vector<PublishedRow>, std::string> published_rows();

/// Number of checks, and of those that hold.
struct Tally {
  int figures = 0;
  int hold = 0;
};
/// Counts the checks of the rows of one use; of predictions, those of values and not of limits.
Tally tally(const std::vector<PublishedRow>& rows, Use use);
/// Counts the predictions of limits ("below 5 %").
Tally tally_limits(const std::vector<PublishedRow>& rows);

}  // namespace iwarp::offload_model
