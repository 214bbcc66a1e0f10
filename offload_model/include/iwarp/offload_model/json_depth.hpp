// SPDX-License-Identifier: Apache-2.0
// Bounds what a JSON file may do to whoever reads it: one that is nested without end makes a reader
// that calls itself run out of stack. To be asked before parsing.
#pragma once

#include <string_view>

namespace iwarp::offload_model {

/// No file of this project has more than a handful of levels.
inline constexpr int kDeepestJson = 32;

/// Counts brackets outside strings; says nothing about whether `text` is JSON.
bool nested_too_deep(std::string_view text, int deepest = kDeepestJson);

}  // namespace iwarp::offload_model
