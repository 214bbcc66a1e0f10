// SPDX-License-Identifier: Apache-2.0
// The subcommands of iwarp, one file each. Each adds itself to the command line and, when it is the
// one chosen, leaves what to run. What runs returns the exit status or throws Error.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace iwarp::apps {

using Run = std::function<int()>;

void add_demo(CLI::App& app, Run& run);
void add_serve(CLI::App& app, Run& run);
void add_get(CLI::App& app, Run& run);
void add_put(CLI::App& app, Run& run);
void add_ping(CLI::App& app, Run& run);
void add_perf(CLI::App& app, Run& run);
void add_conform(CLI::App& app, Run& run);
void add_cost(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);

}  // namespace iwarp::apps
