// SPDX-License-Identifier: Apache-2.0
// The subcommands of iwarp cost; each is in a file of its own.
#pragma once

#include "command_line/command.hpp"

namespace iwarp::apps::cost {

cli::Command predict_command();
cli::Command report_command();
cli::Command calibrate_command();
cli::Command run_command();
cli::Command validate_command();

}  // namespace iwarp::apps::cost
