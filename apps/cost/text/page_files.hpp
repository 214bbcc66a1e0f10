// SPDX-License-Identifier: Apache-2.0
// The files of the report page, which are compiled in.
#pragma once

#include <string_view>

namespace iwarp::apps::cost {

/// Returns the content of "page.html", "style.css", "plots.js", "page.js" or "vega.js". Returns an
/// empty text if there is no such file or if this build does not include it.
std::string_view page_file(std::string_view name);

}  // namespace iwarp::apps::cost
