// SPDX-License-Identifier: Apache-2.0
// Converts and checks numbers in JSON that this program has not written. JSON has only one type of
// number. Where a count is expected, the text may have a fraction, a negative number or a number of
// 300 digits; nlohmann::json would silently convert these numbers.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <utility>

#include "common/base/error.hpp"

namespace iwarp::apps::usage {

/// Returns `json` as an integer. If it is not an integer or exceeds the range of T, throws Error
/// with `name` in the text.
template <std::integral T, typename Json>
T whole_number(const Json& json, const char* name) {
  if (json.is_number_unsigned()
          ? std::in_range<T>(json.template get<std::uint64_t>())
          : json.is_number_integer() && std::in_range<T>(json.template get<std::int64_t>())) {
    return json.template get<T>();
  }
  throw Error(fmt::format("{}: not an integer, or out of range", name));
}

/// Sets `out` to the member `name` of `object`, which must have the type of `out`. Throws
/// Json::exception if the member is missing.
template <typename T, typename Json>
void read_number(const Json& object, const char* name, T& out) {
  const auto& json = object.at(name);
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    out = whole_number<T>(json, name);
  } else {
    json.get_to(out);
  }
}

}  // namespace iwarp::apps::usage
