// SPDX-License-Identifier: Apache-2.0
// Pages of one file: templates whose parts were compiled in, and data for the scripts inside them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iwarp::apps {

/// JSON for the inside of a script element: without "<" it neither ends nor opens anything. In JSON
/// "<" stands in strings only.
std::string script_safe(std::string_view json);

/// `page` with each of the names replaced, in one pass: what is put in is not searched again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace iwarp::apps
