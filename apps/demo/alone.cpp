// SPDX-License-Identifier: Apache-2.0
// The only subcommand of iwarp_demo, the program that apps/demo.sh runs while most of the iwarp
// command is not built yet.
#include "commands.hpp"

namespace iwarp::apps {

std::vector<cli::Command> all_commands() { return {demo_command()}; }

}  // namespace iwarp::apps
