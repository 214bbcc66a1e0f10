// SPDX-License-Identifier: Apache-2.0
// Appends numbers to text without a format string. A report may have millions of lines, for which
// parsing a format string per number would take too long.
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
