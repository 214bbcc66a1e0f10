// SPDX-License-Identifier: Apache-2.0
// Limits the nesting of JSON files, because a recursive parser runs out of stack if a file is
// nested too deep. Programs check the depth before they parse.
#pragma once

#include <string_view>

namespace iwarp::offload_model {

/// The deepest nesting allowed. Files of this project have only a few levels.
inline constexpr int kDeepestJson = 32;

/// Returns whether brackets outside strings are nested deeper than `deepest`. Does not check that
/// `text` is JSON.
bool nested_too_deep(std::string_view text, int deepest = kDeepestJson);

}  // namespace iwarp::offload_model
