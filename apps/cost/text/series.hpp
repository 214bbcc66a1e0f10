// SPDX-License-Identifier: Apache-2.0
// Writes the numbers of the charts and tables in the report as JSON text. It contains names, units
// and points; the page computes the pixels.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

/// Returns one object: title, workload, and one member for each chart. If `indent` is negative, it
/// is a single line.
std::string series_json(const Question& question, const std::vector<model::MeasuredShare>& measured,
                        int indent);

}  // namespace iwarp::apps::cost
