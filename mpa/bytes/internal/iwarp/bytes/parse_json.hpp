// SPDX-License-Identifier: Apache-2.0
// parse_json(): parses JSON with a limited depth, because a recursive reader of the result would
// run out of stack.
#pragma once

#include <expected>
#include <string_view>

namespace iwarp::bytes {

/// The deepest nesting allowed. Files of this project have only a few levels.
inline constexpr int kDeepestJson = 32;

/// Parses `text`. On failure returns the reason.
template <typename Json>
std::expected<Json, const char*> parse_json(std::string_view text, int deepest = kDeepestJson) {
  using Event = typename Json::parse_event_t;
  bool too_deep = false;
  const auto is_within = [&](int depth, Event event, Json&) {
    too_deep |= depth >= deepest && (event == Event::object_start || event == Event::array_start);
    return !too_deep;
  };
  Json out = Json::parse(text, is_within, false);
  if (too_deep) return std::unexpected("JSON nested too deeply");
  if (out.is_discarded()) return std::unexpected("not JSON");
  return out;
}

}  // namespace iwarp::bytes
