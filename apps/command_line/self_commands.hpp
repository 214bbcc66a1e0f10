// SPDX-License-Identifier: Apache-2.0
// The commands about the command line itself: help, which also writes the man pages, and
// completion.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Adds both commands to `root`. When they run, `root` must be complete and must not have moved.
void add_self_commands(Command& root, const std::string& version);

}  // namespace iwarp::apps::cli
