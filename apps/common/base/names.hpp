// SPDX-License-Identifier: Apache-2.0
// Resolves the address of a host, for commands that open their own connections.
#pragma once

#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::apps {

/// Returns numeric addresses in the order to try them. Throws Error "unknown host NAME", or
/// Interrupted.
std::vector<net::Address> addresses_of(const net::Address& to);

}  // namespace iwarp::apps
