// SPDX-License-Identifier: Apache-2.0
// Explains why a server cannot listen. The text distinguishes an unknown name from an address of
// another machine, because the user has to correct different mistakes.
#pragma once

#include "common/base/error.hpp"

namespace iwarp::apps {

/// Returns the error for address `at`: "unknown host NAME", or "cannot listen on ADDR: reason".
Error cannot_listen(const net::Address& at, const std::error_code& error);

}  // namespace iwarp::apps
