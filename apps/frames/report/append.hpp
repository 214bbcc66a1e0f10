// SPDX-License-Identifier: Apache-2.0
// Appends numbers to text without a format string. Millions of lines are written, and parsing the
// format string for each number takes too long.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace iwarp::apps::frames {

inline void append_number(std::string& text, std::uint64_t number) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

}  // namespace iwarp::apps::frames
