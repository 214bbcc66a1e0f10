// SPDX-License-Identifier: Apache-2.0
// Numbers in JSON of others. JSON has one kind of number: a fraction, one below zero or one of 300
// digits may stand where a count belongs, and the library converts it without a word.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <utility>

#include "common/base/error.hpp"

namespace iwarp::apps::usage {

/// The whole number at `json`, called `name` in the error. Error: there is something else, or a
/// number that T does not have.
template <std::integral T, typename Json>
T whole_number(const Json& json, const char* name) {
  if (json.is_number_unsigned()) {
    const auto number = json.template get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (json.is_number_integer()) {
    const auto number = json.template get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  throw Error(fmt::format("{}: not a whole number, or out of range", name));
}

/// The same of the member `name`. Json::exception: there is none.
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
