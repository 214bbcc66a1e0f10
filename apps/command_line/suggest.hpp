// SPDX-License-Identifier: Apache-2.0
// Answers "did you mean ...?", for words that are almost right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace iwarp::apps::cli {

/// The one of `known` that is nearest to `word` by insertions, deletions, replacements and swaps of
/// neighbours; empty: none is near, that is, more than a third of the word is different.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean X?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace iwarp::apps::cli
