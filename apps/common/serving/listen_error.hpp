// SPDX-License-Identifier: Apache-2.0
// Explains why a server cannot listen at an address. The text distinguishes an unknown host name
// from an address that belongs to another machine, because the user must correct them in different
// ways.
#pragma once

#include "common/base/error.hpp"

namespace iwarp::apps {

/// Returns why a socket cannot be bound or cannot listen, and what the user can do.
std::string listen_failure(const std::error_code& error);

/// Returns the error for address `at`: "unknown host NAME", or "cannot listen on ADDR: reason".
Error cannot_listen(const net::Address& at, const std::error_code& error);

}  // namespace iwarp::apps
