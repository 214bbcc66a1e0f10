// SPDX-License-Identifier: Apache-2.0
// Parses and prints the value of --adversary: "on", a seed or FIRST..LAST, and then the names of
// freedoms. Without names, the device uses every freedom except the loss of datagrams.
#include "iwarp/options/adversary.hpp"

#include <algorithm>
#include <ranges>

#include "values.hpp"

namespace iwarp::options {
namespace {

bool parse_seeds(std::string_view text, Adversary& out) {
  constexpr std::string_view kTo = "..";
  const auto dots = text.find(kTo);
  const bool is_range = dots != text.npos;
  const auto first = parse_number(text.substr(0, dots), 0, UINT64_MAX);
  const auto last = is_range ? parse_number(text.substr(dots + kTo.size()), 0, UINT64_MAX) : first;
  if (!first || !last || *last < *first) return text == "on";
  out.first = *first;
  out.last = *last;
  return true;
}

}  // namespace

std::optional<Adversary> parse_adversary(std::string_view text) {
  Adversary out;
  bool is_first = true;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view word(part);
    if (is_first) {
      if (!parse_seeds(word, out)) return std::nullopt;
      if (word.size() != text.size()) out.freedoms = 0;
    } else {
      const auto found = std::ranges::find(kFreedoms, word);
      if (found == kFreedoms.end()) return std::nullopt;
      out.freedoms |= 1U << (found - kFreedoms.begin());
    }
    is_first = false;
  }
  if (is_first) return std::nullopt;
  return out;
}

std::string to_string(const Adversary& adversary) {
  std::string out = std::to_string(adversary.first);
  if (adversary.freedoms == Adversary().freedoms) return out;
  for (std::size_t i = 0; i < kFreedoms.size(); ++i) {
    if (adversary.has(static_cast<Freedom>(i))) out.append(",").append(kFreedoms[i]);
  }
  return out;
}

}  // namespace iwarp::options
