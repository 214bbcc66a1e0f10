// SPDX-License-Identifier: Apache-2.0
// Declares the subcommands of iwarp. The code of each subcommand is in its own folder.
#pragma once

#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps {

/// Returns the subcommands of the program that main.cpp is linked into.
std::vector<cli::Command> all_commands();

cli::Command demo_command();
cli::Command serve_command();
cli::Command get_command();
cli::Command put_command();
cli::Command ping_command();
cli::Command perf_command();
cli::Command conform_command();
cli::Command cost_command();
cli::Command run_command();
cli::Command fault_command();
cli::Command explain_command();
cli::Command explain_error_command();
cli::Command lab_command();
cli::Command learn_command();
cli::Command info_command();

}  // namespace iwarp::apps
