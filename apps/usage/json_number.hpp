// SPDX-License-Identifier: Apache-2.0
// Checked conversion of numbers in JSON from outside. JSON has one kind of number: a count may be
// given as a fraction, a negative number or a number of 300 digits, and the library converts it
// silently.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <utility>

#include "common/base/error.hpp"

namespace iwarp::apps::usage {

/// Returns the integer at `json`, which the error calls `name`. Throws Error if it is not an
/// integer, or out of the range of T.
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

/// Returns the integer member `name`. Throws Json::exception if there is none.
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
