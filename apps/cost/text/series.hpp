// SPDX-License-Identifier: Apache-2.0
// Writes an answer as JSON text, for programs and for the page. The page computes the pixels.
#pragma once

#include <string>

#include "cost/text/answer.hpp"

namespace iwarp::apps::cost {

/// Returns one JSON object. If `indent` is negative, the text is a single line.
std::string series_json(const Answer& answer, int indent);

}  // namespace iwarp::apps::cost
