// SPDX-License-Identifier: Apache-2.0
// iwarp cost: the parent of the subcommands that account for processor time.
#include "commands.hpp"
#include "cost/commands/subcommands.hpp"

namespace iwarp::apps {

cli::Command cost_command() {
  cli::Command command(
      "cost",
      "Predict the processor cost of moving data with sockets, software iWARP, a TOE or an RNIC");
  command.commands = {cost::predict_command(), cost::report_command(),   cost::calibrate_command(),
                      cost::fit_command(),     cost::validate_command(), cost::record_command()};
  command.notes = "rfc-notes/offload-model.md explains the model.";
  command.shown = {"iwarp cost predict                            start here",
                   "iwarp cost calibrate --out host.json          measures this machine",
                   "iwarp cost report --host host.json --html report.html"};
  return command;
}

}  // namespace iwarp::apps
