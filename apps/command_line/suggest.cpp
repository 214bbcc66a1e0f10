// SPDX-License-Identifier: Apache-2.0
// Measures the distance between two words by optimal string alignment.
#include "command_line/suggest.hpp"

#include <algorithm>
#include <vector>

namespace iwarp::apps::cli {

namespace {

constexpr std::size_t kLongest = 64;  // a longer word gets no suggestion

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kLongest) return "";
  std::string_view best;
  std::size_t least = word.size() / 3;
  for (const auto& candidate : known) {
    const auto found = distance(word, candidate);
    if (found > least || (found == least && !best.empty())) continue;
    best = candidate;
    least = found;
  }
  return std::string(best);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const auto near = nearest(word, known);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

}  // namespace iwarp::apps::cli
