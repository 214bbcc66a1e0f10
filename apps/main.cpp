// SPDX-License-Identifier: Apache-2.0
// The iwarp command, with all its subcommands.
#include "command_line/program.hpp"
#include "command_line/self_commands.hpp"
#include "commands.hpp"
#include "iwarp/version.hpp"

namespace iwarp::apps {

namespace {

void describe(cli::Command& root) {
  root.summary =
      "iWARP in user space: RDMA over ordinary TCP sockets (RFC 5040, 5041, 5044).\n"
      "One side registers memory and sends the key of this memory (the STag) to the other\n"
      "side, which then reads and writes the memory directly, while the program that owns\n"
      "the memory sleeps.";
  root.usage = "iwarp COMMAND [OPTION...] [ARGUMENT...]\n       iwarp --version";
  root.commands = all_commands();
  root.notes =
      "Start with:  iwarp demo\nEach command has its own help, for example:  iwarp get --help";
  cli::add_self_commands(root, kVersion);
}

}  // namespace

}  // namespace iwarp::apps

int main(int argc, char** argv) {
  return iwarp::apps::cli::run_program("iwarp", iwarp::apps::describe, argc, argv, iwarp::kVersion);
}
