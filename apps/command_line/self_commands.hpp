// SPDX-License-Identifier: Apache-2.0
// Declares the commands about the command line itself: `iwarp help`, which also writes the man
// pages, and `iwarp completion`.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Adds the commands `help` and `completion` to `root`. When one of these commands runs, `root`
/// must contain all other commands and still be at the same address.
void add_self_commands(Command& root, const std::string& version);

}  // namespace iwarp::apps::cli
