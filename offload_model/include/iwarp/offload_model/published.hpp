// SPDX-License-Identifier: Apache-2.0
// What others have measured, and what this model gives in the same place. Rows that were used to
// choose a preset's values are told apart from predicted ones, and a miss says why.
#pragma once

#include <expected>
#include <string>
#include <vector>

namespace iwarp::offload_model {

/// One number of a row: in bounds or not.
struct Check {
  std::string what;
  std::string unit;
  double published = 0;
  double low = 0;
  double high = 0;
  double model = 0;
  bool holds() const { return model >= low && model <= high; }
};

enum class Use { kIdentity, kCalibration, kPrediction };
std::string_view to_string(Use use);

struct PublishedRow {
  int number = 0;
  Use use = Use::kIdentity;
  std::string figure;  ///< what was published, in a few words
  std::string source;
  std::string mark;
  std::string preset;  ///< empty: the row brings its own inputs
  std::vector<Check> checks;
  std::string reason;  ///< why it is missed, if it is; or how it is to be read
  bool holds() const;
};

/// All rows, computed now. The error says what is wrong with the data file.
std::expected<std::vector<PublishedRow>, std::string> published_rows();

}  // namespace iwarp::offload_model
