// SPDX-License-Identifier: Apache-2.0
// Figures from publications, and what this model computes for them. Only a prediction is evidence
// for the model, because no value of the preset comes from the predicted figure. Rows that were
// used to choose values of a preset, and rows that add up a paper's own numbers, are marked and
// counted separately.
#pragma once

#include <array>
#include <cmath>
#include <expected>
#include <string>
#include <vector>

#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::offload_model {

/// What it proves if the model agrees with a published figure (a PublishedRow).
enum class Use {
  kIdentity,    ///< proves only that the arithmetic is right
  kCalibrated,  ///< proves nothing: a value of the preset was chosen to match the figure
  kDerived,     ///< proves that the paper's own numbers add up
  kPrediction,  ///< proves that the model predicts the figure
  kCliff,       ///< proves that the model predicts where throughput falls
};
/// Returns "identity", "calibrated", "derived", "prediction" or "cliff".
std::string_view to_string(Use use);

/// The criterion for a prediction to agree with its figure. It is the same for every figure and was
/// fixed before the comparison.
struct Criterion {
  double miss = 0.25;  ///< largest error, relative to the published value
  /// Largest ratio of the upper to the lower end of the 90 % band; a wider band proves nothing.
  double band = 2;
  double cliff = 1.5;  ///< largest factor between the published number and the model
};
inline constexpr Criterion kCriterion;

/// One number of a PublishedRow.
struct Check {
  std::string what;
  std::string unit;
  double published = 0;
  double model = 0;
  bool at_most = false;  ///< the source gives a limit, not a value
  /// Of a prediction: range of the model according to the uncertainties of the preset. Of other
  /// rows: the tolerance of the published value.
  Band band{};

  /// Returns the relative error of the model. A negative value means that the model is too low.
  double miss() const { return model / published - 1; }
  /// Returns whether the model is within the tolerance of the published value.
  bool in_tolerance() const { return model >= band.low && model <= band.high; }
  /// Returns whether the error is within the criterion.
  bool near() const { return std::abs(miss()) <= kCriterion.miss; }
  /// Returns whether the width of the band is within the criterion.
  bool narrow() const { return band.low > 0 && band.high / band.low <= kCriterion.band; }
  /// Returns whether the published value is within the band.
  bool inside() const { return band.low <= published && published <= band.high; }
  /// Returns whether a prediction agrees with the published value or limit.
  bool agrees() const { return at_most ? band.high <= published : near() && narrow(); }
  /// Returns in a few words whether a prediction agrees, and if not, why.
  std::string_view verdict() const;
};

/// One published figure with all its numbers.
struct PublishedRow {
  int number = 0;
  Use use = Use::kIdentity;
  std::string figure;  ///< what was published, in a few words
  std::string source;
  std::string mark;    ///< quality of the source, see README.md
  std::string preset;  ///< name of the preset; empty if the row has its own inputs
  std::vector<Check> checks;
  bool held_out = false;  ///< the figure was found when the model was done, and compared once
  std::string reason;     ///< how to read the figure, or why the model misses it

  /// Returns whether `check`, which is one of `checks`, holds by the rule for `use`.
  bool holds(const Check& check) const {
    return use == Use::kPrediction ? check.agrees() : check.in_tolerance();
  }
};

/// Computes all rows. On failure returns a text that says what is wrong with the data file.
std::expected<std::vector<PublishedRow>, std::string> published_rows();

/// The number of checks, and how many of these checks hold.
struct Tally {
  int figures = 0;
  int hold = 0;
};
/// The checks of all rows, counted by what they prove.
struct Tallies {
  std::array<Tally, 5> by_use;  ///< by Use; without the checks of limits
  Tally limits;                 ///< checks of limits (`at_most`), for example "below 5 %"
  Tally held_out;               ///< predictions that were held out
  int inside = 0;               ///< predictions whose band holds the published value
  /// Returns the tally of a use.
  const Tally& operator[](Use use) const { return by_use[static_cast<std::size_t>(use)]; }
};
Tallies tally(const std::vector<PublishedRow>& rows);

}  // namespace iwarp::offload_model
