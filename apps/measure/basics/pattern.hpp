// SPDX-License-Identifier: Apache-2.0
// The payload of --check: every octet depends on the connection, the number of the message and its
// place, so that nothing that is lost, late, doubled or misplaced looks right. The last octet is
// the number's lowest: it differs from that of the message before.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::measure {

void fill_pattern(bytes::Span octets, std::uint64_t lane, std::uint64_t number);

/// Error: which octet of which message is wrong. The first `skip` octets are not looked at.
void check_pattern(bytes::View octets, std::uint64_t lane, std::uint64_t number,
                   std::size_t skip = 0);

}  // namespace iwarp::apps::measure
