// SPDX-License-Identifier: Apache-2.0
// Declares the subcommands of `iwarp cost`. Each is implemented in its own file.
#pragma once

#include "command_line/command.hpp"

namespace iwarp::apps::cost {

cli::Command predict_command();
cli::Command report_command();
cli::Command calibrate_command();
cli::Command fit_command();
cli::Command record_command();
cli::Command validate_command();

}  // namespace iwarp::apps::cost
