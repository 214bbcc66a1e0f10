// SPDX-License-Identifier: Apache-2.0
// The numbers behind the charts and tables of the report, as JSON text: names, units and points,
// but no pixels.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

/// Returns title, workload, and one member for each chart. A negative `indent` gives a single line.
std::string series_json(const Question& question, const std::vector<model::MeasuredShare>& measured,
                        int indent);

}  // namespace iwarp::apps::cost
