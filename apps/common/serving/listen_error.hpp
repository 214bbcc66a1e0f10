// SPDX-License-Identifier: Apache-2.0
// Explains why a server cannot listen. An unknown name and an address of another machine are
// different mistakes.
#pragma once

#include "common/base/error.hpp"

namespace iwarp::apps {

/// Returns the error for address `at`: "unknown host NAME", or "cannot listen on ADDR: reason".
Error cannot_listen(const net::Address& at, const std::error_code& error);

}  // namespace iwarp::apps
