// SPDX-License-Identifier: Apache-2.0
// iwarp cost: the processor-time ledger on the command line.
#include "cost/subcommands.hpp"

namespace iwarp::apps {

void add_cost(CLI::App& app, Run& run) {
  auto* command =
      app.add_subcommand("cost", "What moving data costs the processor: sockets, iWARP, TOE, RNIC");
  command->footer(
      "Start with:  iwarp cost predict\n"
      "On this machine:  iwarp cost calibrate --out host.json\n"
      "                  iwarp cost report --host host.json --html report.html\n"
      "The model, explained:  rfc-notes/offload-model.md");
  command->require_subcommand(1);
  command->get_formatter()->column_width(32);
  cost::add_predict(*command, run);
  cost::add_report(*command, run);
  cost::add_calibrate(*command, run);
  cost::add_validate(*command, run);
  cost::add_measure(*command, run);
}

}  // namespace iwarp::apps
