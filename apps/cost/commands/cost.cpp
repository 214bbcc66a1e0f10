// SPDX-License-Identifier: Apache-2.0
// iwarp cost: accounts for processor time on the command line.
#include "commands.hpp"
#include "cost/commands/subcommands.hpp"

namespace iwarp::apps {

cli::Command cost_command() {
  cli::Command command("cost", "What moving data costs the processor: sockets, iWARP, TOE, RNIC");
  command.commands = {cost::predict_command(), cost::report_command(), cost::calibrate_command(),
                      cost::validate_command(), cost::run_command()};
  command.notes = "The model, explained: rfc-notes/offload-model.md";
  command.shown = {"iwarp cost predict                            the first thing to try",
                   "iwarp cost calibrate --out host.json          measures this machine",
                   "iwarp cost report --host host.json --html report.html"};
  return command;
}

}  // namespace iwarp::apps
