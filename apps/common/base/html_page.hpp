// SPDX-License-Identifier: Apache-2.0
// Self-contained HTML pages: templates whose parts are compiled in, and data for their scripts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iwarp::apps {

/// Makes JSON safe inside a script element: without "<" it cannot end or open an element. In JSON,
/// "<" occurs only in strings, so it can be escaped.
std::string script_safe(std::string_view json);

/// Returns `page` with each of the names replaced, in one pass: inserted text is not searched
/// again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace iwarp::apps
