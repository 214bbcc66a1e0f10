// SPDX-License-Identifier: Apache-2.0
// Generates self-contained HTML pages. The templates and their parts are compiled in; the pages
// contain the data for their scripts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iwarp::apps {

/// Makes JSON safe to put into a script element by escaping each "<", which could otherwise end the
/// element or open another one. In JSON, "<" occurs only in strings, where it can be escaped.
std::string script_safe(std::string_view json);

/// Returns `page` with each name replaced by its value. All names are replaced in one pass, so
/// names inside of inserted values are not replaced.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace iwarp::apps
