// SPDX-License-Identifier: Apache-2.0
// The subcommands of iwarp cost, one file each.
#pragma once

#include "commands.hpp"

namespace iwarp::apps::cost {

void add_predict(CLI::App& app, Run& run);
void add_report(CLI::App& app, Run& run);
void add_calibrate(CLI::App& app, Run& run);
void add_measure(CLI::App& app, Run& run);
void add_validate(CLI::App& app, Run& run);

}  // namespace iwarp::apps::cost
