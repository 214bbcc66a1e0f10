// SPDX-License-Identifier: Apache-2.0
// The payload pattern of --check. Each byte depends on the connection, the message number and the
// byte's position, so that lost, late, duplicated and misplaced data is detected. The last byte is
// the low byte of the message number, so it differs from the last byte of the previous message.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::measure {

void fill_pattern(bytes::Span octets, std::uint64_t lane, std::uint64_t number);

/// Throws Error if a byte is wrong. The text names the byte and its message. The first `skip` bytes
/// are not checked.
void check_pattern(bytes::View octets, std::uint64_t lane, std::uint64_t number,
                   std::size_t skip = 0);

}  // namespace iwarp::apps::measure
