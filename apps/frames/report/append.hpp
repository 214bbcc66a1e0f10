// SPDX-License-Identifier: Apache-2.0
// Appends numbers to lines of which millions are written, without parsing a format string each
// time.
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
