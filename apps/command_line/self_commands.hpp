// SPDX-License-Identifier: Apache-2.0
// The commands about the command line itself: help, with the man pages, and completion.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Adds both to `root`, which must stay where it is and be complete when they run.
void add_self_commands(Command& root, const std::string& version);

}  // namespace iwarp::apps::cli
