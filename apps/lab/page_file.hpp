// SPDX-License-Identifier: Apache-2.0
// The page of iwarp lab, compiled in.
#pragma once

#include <string_view>

namespace iwarp::apps::lab {

/// Returns the page, one file, for the name "page". Empty: it was not built.
std::string_view page_file(std::string_view name);

}  // namespace iwarp::apps::lab
