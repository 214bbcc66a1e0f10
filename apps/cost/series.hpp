// SPDX-License-Identifier: Apache-2.0
// The numbers behind the report's pictures, as JSON: names, units and points; no pixels.
#pragma once

#include <nlohmann/json.hpp>

#include "cost/question.hpp"

namespace iwarp::apps::cost {

using Json = nlohmann::ordered_json;

/// What share of a socket's measured processor time is copying: at least what memcpy takes for as
/// many octets, at most all that grows with them.
struct MeasuredShare {
  double size = 0;  ///< octets of a message
  double low = 0;   ///< 0..1
  double high = 0;
};

/// Everything: title, workload, one member per picture.
Json all_series(const Question& question, const std::vector<MeasuredShare>& measured);

}  // namespace iwarp::apps::cost
