// SPDX-License-Identifier: Apache-2.0
// Finds the known word that is nearest to a misspelled one, for "did you mean ...?".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace iwarp::apps::cli {

/// Returns the word of `known` with the smallest edit distance to `word` (insertions, deletions,
/// replacements, and swaps of neighbouring letters). Returns an empty text if every distance
/// exceeds a third of the length of `word`.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// Returns "; did you mean X?", or an empty text if no word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace iwarp::apps::cli
