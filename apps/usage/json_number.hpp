// SPDX-License-Identifier: Apache-2.0
// Converts numbers in JSON from outside, with checks. JSON has only one type of number, so a count
// may arrive as a fraction, a negative number or a number of 300 digits; nlohmann::json would
// convert these silently.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <utility>

#include "common/base/error.hpp"

namespace iwarp::apps::usage {

/// Returns the integer `json`. Throws Error, with `name` in its text, if `json` is not an integer
/// or out of the range of T.
template <std::integral T, typename Json>
T whole_number(const Json& json, const char* name) {
  if (json.is_number_unsigned()) {
    const auto number = json.template get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (json.is_number_integer()) {
    const auto number = json.template get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  throw Error(fmt::format("{}: not an integer, or out of range", name));
}

/// Reads the number that is member `name` of `object` into `out`. Throws Json::exception if there
/// is no such member.
template <typename T, typename Json>
void read_number(const Json& object, const char* name, T& out) {
  const auto& json = object.at(name);
  if constexpr (std::integral<T>) {
    out = whole_number<T>(json, name);
  } else {
    json.get_to(out);
  }
}

}  // namespace iwarp::apps::usage
