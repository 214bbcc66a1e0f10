// SPDX-License-Identifier: Apache-2.0
// The parts of the report page, compiled in.
#pragma once

#include <string_view>

namespace iwarp::apps::cost {

/// "page.html", "style.css", "plots.js", "page.js", "vega.js". Empty: none such, or built without
/// it.
std::string_view page_file(std::string_view name);

}  // namespace iwarp::apps::cost
