// SPDX-License-Identifier: Apache-2.0
// The page of `iwarp lab`, which is compiled into the program.
#pragma once

#include <string_view>

namespace iwarp::apps::lab {

/// Returns the page if `name` is "page". The text is empty if the page was not built.
std::string_view page_file(std::string_view name);

}  // namespace iwarp::apps::lab
