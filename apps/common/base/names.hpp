// SPDX-License-Identifier: Apache-2.0
// The addresses of a host, for commands that connect themselves.
#pragma once

#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::apps {

/// Numeric, in the order in which they should be tried. Error: "unknown host NAME". Interrupted.
std::vector<net::Address> addresses_of(const net::Address& to);

}  // namespace iwarp::apps
