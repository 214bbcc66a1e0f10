// SPDX-License-Identifier: Apache-2.0
// A bound on the nesting of JSON files: a recursive parser runs out of stack on a file that is
// nested too deep. Programs check the depth before they parse.
#pragma once

#include <string_view>

namespace iwarp::offload_model {

/// The deepest nesting allowed; files of this project have a handful of levels.
inline constexpr int kDeepestJson = 32;

/// Returns whether brackets outside strings are nested deeper than `deepest`. Does not check that
/// `text` is JSON.
bool nested_too_deep(std::string_view text, int deepest = kDeepestJson);

}  // namespace iwarp::offload_model
