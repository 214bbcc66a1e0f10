// SPDX-License-Identifier: Apache-2.0
// Writes the numbers of the report's charts and tables as JSON text. The JSON contains names, units
// and points; the page computes the pixels.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

/// Returns one JSON object with the title, the workload, and one member for each chart. If `indent`
/// is negative, the text is a single line.
std::string series_json(const Question& question, const std::vector<model::MeasuredShare>& measured,
                        int indent);

}  // namespace iwarp::apps::cost
