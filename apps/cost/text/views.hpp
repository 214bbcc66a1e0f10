// SPDX-License-Identifier: Apache-2.0
// The views of an answer.
#pragma once

#include <string>
#include <string_view>

#include "cost/text/answer.hpp"

namespace iwarp::apps::cost {

/// Returns an answer for a terminal: the sentences, then tables of numbers and their uncertainty.
std::string prediction_text(const Answer& answer);
/// Returns an answer as one JSON object, for programs and for the page. If `indent` is negative,
/// the text is a single line; it never ends with a newline.
std::string series_json(const Answer& answer, int indent);
/// Returns the report page, which is compiled in, with "@DATA@" in place of the JSON. Returns an
/// empty text if this build has no plotting library.
std::string_view page_file(std::string_view name);

}  // namespace iwarp::apps::cost
