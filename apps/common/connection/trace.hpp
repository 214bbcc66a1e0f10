// SPDX-License-Identifier: Apache-2.0
// Implements the option --trace FILE: puts a tap on every connection of the command.
#pragma once

#include <string>

#include "iwarp/net/connection_manager.hpp"

namespace iwarp::apps {

/// Creates `file`. Returns a factory of taps; each tap records one connection in `file`. Returns an
/// empty factory if `file` is empty. Throws Error if the file cannot be created.
net::TapFactory make_tap_factory(const std::string& file);

}  // namespace iwarp::apps
