// SPDX-License-Identifier: Apache-2.0
// From --trace FILE to a tap on every connection of the command.
#pragma once

#include <string>

#include "iwarp/net/connection_manager.hpp"

namespace iwarp::apps {

/// Empty when `file` is empty. Otherwise the file is created now; all connections go into it.
/// Error: it cannot be created.
net::TapFactory make_tap_factory(const std::string& file);

}  // namespace iwarp::apps
