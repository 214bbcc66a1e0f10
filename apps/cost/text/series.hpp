// SPDX-License-Identifier: Apache-2.0
// The numbers behind the report's pictures and tables, as JSON text: names, units and points; no
// pixels.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

/// Everything: title, workload, one member per picture. `indent` below 0: in one line.
std::string series_json(const Question& question, const std::vector<model::MeasuredShare>& measured,
                        int indent);

}  // namespace iwarp::apps::cost
