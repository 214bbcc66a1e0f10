// SPDX-License-Identifier: Apache-2.0
// Formats an answer for a terminal: the four sentences, then tables of numbers and their
// uncertainty.
#pragma once

#include <string>

#include "cost/text/answer.hpp"

namespace iwarp::apps::cost {

/// Returns the whole text; each line ends with a newline.
std::string prediction_text(const Answer& answer);

}  // namespace iwarp::apps::cost
