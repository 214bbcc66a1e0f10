// SPDX-License-Identifier: Apache-2.0
// The iwarp command: parses the command line, runs one subcommand, and prints an exception as one
// line on standard error. The exit status is 0 for success, 1 for failure, or 2 for an invalid
// command line.
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "command_line/help.hpp"
#include "command_line/parse.hpp"
#include "command_line/self_commands.hpp"
#include "commands.hpp"
#include "common/base/error.hpp"
#include "iwarp/version.hpp"

namespace iwarp::apps {

namespace {

int fail(const std::string& command, const std::string& text, int status) {
  std::fprintf(stderr, "%s: %s\n", command.c_str(), text.c_str());
  return status;
}

/// Flushes standard output. Throws Error if this fails, for example because the disk is full.
void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error("cannot write to standard output: " + errno_text());
  }
}

cli::Command root_command() {
  cli::Command root(
      "iwarp",
      "iWARP in user space: RDMA over ordinary TCP sockets (RFC 5040, 5041, 5044).\n"
      "One side registers memory and sends the key of this memory (the STag) to the other\n"
      "side, which then reads and writes the memory directly, while the program that owns\n"
      "the memory sleeps.");
  root.usage = "iwarp COMMAND [OPTION...] [ARGUMENT...]\n       iwarp --version";
  root.commands = all_commands();
  root.notes =
      "Start with:  iwarp demo\nEach command has its own help, for example:  iwarp get --help";
  return root;
}

int run_invocation(const cli::Invocation& invocation) {
  if (invocation.wants_version) {
    std::printf("iwarp %s\n", iwarp::kVersion);
  } else if (invocation.wants_help) {
    std::fputs(cli::help_text(invocation.path).c_str(), stdout);
  } else {
    const int status = invocation.path.back()->run(invocation.given);
    flush_output();
    return status;
  }
  flush_output();
  return 0;
}

int run_words(int argc, char** argv) {
  auto root = root_command();
  cli::add_self_commands(root, iwarp::kVersion);
  // Ignore SIGXFSZ: a write beyond the file size limit then fails with EFBIG and does not kill a
  // server.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto invocation = cli::parse(root, argc, argv);
  if (!invocation) {
    const auto& [command, text] = invocation.error();
    return fail(command, text + " (see " + command + " --help)", kExitUsage);
  }
  const auto command = cli::path_text(invocation->path);
  try {
    return run_invocation(*invocation);
  } catch (const UsageError& error) {
    return fail(command, error.what(), kExitUsage);
  } catch (const std::exception& error) {
    return fail(command, error.what(), kExitFailure);
  }
}

}  // namespace

}  // namespace iwarp::apps

int main(int argc, char** argv) {
  try {
    return iwarp::apps::run_words(argc, argv);
  } catch (...) {
    std::fputs("iwarp: out of memory\n", stderr);
    return iwarp::apps::kExitFailure;
  }
}
