// SPDX-License-Identifier: Apache-2.0
// Resolves host names, for commands that open their own connections.
#pragma once

#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::apps {

/// Returns the numeric addresses of `to` in the order in which to try them. Throws Error "unknown
/// host NAME", or Interrupted on a stop signal.
std::vector<net::Address> addresses_of(const net::Address& to);

}  // namespace iwarp::apps
