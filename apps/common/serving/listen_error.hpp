// SPDX-License-Identifier: Apache-2.0
// Why a server does not listen, for people: a name that nobody knows and an address of another
// machine are different mistakes.
#pragma once

#include "common/base/error.hpp"

namespace iwarp::apps {

/// Why nothing listens at `at`: "unknown host NAME", or "cannot listen on ADDR: reason".
Error cannot_listen(const net::Address& at, const std::error_code& error);

}  // namespace iwarp::apps
