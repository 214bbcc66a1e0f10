// SPDX-License-Identifier: Apache-2.0
// Octets as hexadecimal text and back: for vectors, traces and diagnostics, never on the data path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/bytes/view.hpp"

namespace iwarp::bytes {

/// Returns lower-case hex digits with a space between groups of `group` octets (0: no spaces).
std::string to_hex(View octets, std::size_t group = 4);

/// Parses hex digits; white space is ignored and '#' starts a comment up to the end of its line.
/// Returns nullopt if the number of digits is odd or another character occurs.
std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace iwarp::bytes
