// SPDX-License-Identifier: Apache-2.0
// Generates completion scripts for bash, zsh and fish. The scripts complete commands, options,
// values that are chosen from a list, files and directories.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Returns the script for `shell`: "bash", "zsh" or "fish".
std::string completion_script(const Command& root, const std::string& shell);

}  // namespace iwarp::apps::cli
