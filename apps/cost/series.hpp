// SPDX-License-Identifier: Apache-2.0
// The numbers behind the report's pictures, as JSON: names, units and points; no pixels.
#pragma once

#include <nlohmann/json.hpp>

#include "cost/question.hpp"

namespace iwarp::apps::cost {

using Json = nlohmann::ordered_json;

/// A copy share that was measured, for the picture that compares it.
struct MeasuredShare {
  double size = 0;   ///< octets
  double share = 0;  ///< 0..1
};

/// Everything: title, workload, one member per picture.
Json all_series(const Question& question, const std::vector<MeasuredShare>& measured);

}  // namespace iwarp::apps::cost
