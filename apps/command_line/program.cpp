// SPDX-License-Identifier: Apache-2.0
// run_program(): parses the command line, runs the command, and turns exceptions into a line on
// standard error and an exit status. Reports output that could not be written.
#include "command_line/program.hpp"

#include <csignal>
#include <cstdio>

#include "command_line/error.hpp"
#include "command_line/help.hpp"
#include "command_line/parse.hpp"

namespace iwarp::apps::cli {

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

int run_invocation(const Invocation& invocation, const std::string& version) {
  int status = 0;
  if (invocation.wants_version) {
    std::printf("%s %s\n", invocation.path.front()->name.c_str(), version.c_str());
  } else if (invocation.wants_help) {
    std::fputs(help_text(invocation.path).c_str(), stdout);
  } else {
    status = invocation.path.back()->run(invocation.given);
  }
  flush_output();
  return status;
}

int run_words(const Command& root, int argc, char** argv, const char* version) {
  // Ignore SIGXFSZ: a write beyond the file size limit then fails with EFBIG and does not kill a
  // server.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto invocation = parse(root, argc, argv);
  if (!invocation) {
    const auto& [command, text] = invocation.error();
    // A text that ends with a bracket already says what to do.
    const auto help = text.ends_with(')') ? "" : " (see " + command + " --help)";
    return fail(command, text + help, kExitUsage);
  }
  const auto command = path_text(invocation->path);
  try {
    return run_invocation(*invocation, version);
  } catch (const UsageError& error) {
    return fail(command, error.what(), kExitUsage);
  } catch (const std::exception& error) {
    return fail(command, error.what(), kExitFailure);
  }
}

}  // namespace

int run_program(const char* name, void (*describe)(Command&), int argc, char** argv,
                const char* version) {
  try {
    Command root(name, "");
    describe(root);
    return run_words(root, argc, argv, version);
  } catch (...) {
    std::fprintf(stderr, "%s: out of memory\n", name);
    return kExitFailure;
  }
}

}  // namespace iwarp::apps::cli
