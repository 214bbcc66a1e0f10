// SPDX-License-Identifier: Apache-2.0
// What others have measured, and what this model gives in the same place. Only a prediction can
// speak for the model: a preset's values, none of which comes from the figure. Rows that a preset
// was chosen by, and rows that add up the paper's own numbers, are told apart and counted apart.
#pragma once

#include <cmath>
#include <expected>
#include <string>
#include <vector>

#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::offload_model {

enum class Use {
  kIdentity,    ///< arithmetic that must come out
  kCalibrated,  ///< a preset's value was chosen so that it does
  kDerived,     ///< the paper's own numbers, added up
  kPrediction,
};
std::string_view to_string(Use use);

/// When a prediction agrees with its figure. The same for all, and fixed before looking.
struct Criterion {
  double miss = 0.25;  ///< relative to the published value, at most
  double band = 2;     ///< upper over lower end of the 90 % band, at most: wider says nothing
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

  double miss() const { return model / published - 1; }
  bool in_tolerance() const { return model >= low && model <= high; }
  bool near() const { return std::abs(miss()) <= kCriterion.miss; }
  bool narrow() const { return band.low > 0 && band.high / band.low <= kCriterion.band; }
  /// Of a prediction.
  bool agrees() const { return at_most ? band.high <= published : near() && narrow(); }
};

struct PublishedRow {
  int number = 0;
  Use use = Use::kIdentity;
  std::string figure;  ///< what was published, in a few words
  std::string source;
  std::string mark;
  std::string preset;  ///< empty: the row brings its own inputs
  std::vector<Check> checks;
  std::string reason;  ///< how it is to be read, or why it is missed

  bool holds(const Check& check) const {
    return use == Use::kPrediction ? check.agrees() : check.in_tolerance();
  }
};

/// All rows, computed now. The error says what is wrong with the data file.
std::expected<std::vector<PublishedRow>, std::string> published_rows();

/// Figures, not rows: how many there are of one use, and how many hold.
struct Tally {
  int figures = 0;
  int hold = 0;
};
/// Of predictions: those of values, without those of limits.
Tally tally(const std::vector<PublishedRow>& rows, Use use);
/// Predictions of limits ("below 5 %").
Tally tally_limits(const std::vector<PublishedRow>& rows);

}  // namespace iwarp::offload_model
