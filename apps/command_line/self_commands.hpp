// SPDX-License-Identifier: Apache-2.0
// The commands that describe the command line: help (with the man pages) and completion.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Adds both commands to `root`, which must not move and must be complete when they run.
void add_self_commands(Command& root, const std::string& version);

}  // namespace iwarp::apps::cli
