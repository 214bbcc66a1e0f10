// SPDX-License-Identifier: Apache-2.0
// The main function of a program whose command line is described by a Command.
#pragma once

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Parses the command line for the command that `describe` completes, runs it, and prints an
/// exception as one line on standard error. Returns the exit status: the command's, 1 after a
/// failure, or 2 if the command line is invalid.
int run_program(const char* name, void (*describe)(Command&), int argc, char** argv,
                const char* version);

}  // namespace iwarp::apps::cli
