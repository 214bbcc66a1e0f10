// SPDX-License-Identifier: Apache-2.0
// The subcommands of the iwarp command, in the order of its help.
#include "commands.hpp"

namespace iwarp::apps {

std::vector<cli::Command> all_commands() {
  return {demo_command(),    serve_command(),         get_command(),  put_command(),
          ping_command(),    perf_command(),          run_command(),  conform_command(),
          explain_command(), explain_error_command(), lab_command(),  learn_command(),
          cost_command(),    info_command(),          fault_command()};
}

}  // namespace iwarp::apps
