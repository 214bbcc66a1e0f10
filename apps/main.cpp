// SPDX-License-Identifier: Apache-2.0
// The iwarp command: reads the command line, runs one subcommand, and turns what it throws into one
// line on standard error. Exit status: 0 done, 1 failed, 2 the command line makes no sense.
#include <csignal>
#include <cstdio>

#include "commands.hpp"
#include "common/error.hpp"

namespace {

constexpr const char* kIntro =
    "iWARP in user space: RDMA over ordinary TCP sockets (RFC 5040, 5041, 5044).\n"
    "One side registers memory and tells the other its STag; the other then reads and writes that\n"
    "memory directly, while the owner's program sleeps.\n";

constexpr const char* kFooter =
    "Start with:  iwarp demo\n"
    "Each command has its own help:  iwarp get --help";

/// The name of the subcommand that was being read, for the error line.
std::string command_name(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "iwarp" : "iwarp " + chosen.front()->get_name();
}

/// What CLI11 says about the command line, in one line that leads on.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, const char* word) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  if (app.get_subcommands().empty()) {
    const bool is_option = word != nullptr && word[0] == '-';
    if (word == nullptr) text = "which command?";
    if (word != nullptr && !is_option) text = std::string("there is no command ") + word;
  }
  return text + " (see " + command_name(app) + " --help)";
}

int fail(const CLI::App& app, const char* text, int status) {
  std::fprintf(stderr, "%s: %s\n", command_name(app).c_str(), text);
  return status;
}

int run_command(int argc, char** argv) {
  CLI::App app(kIntro, "iwarp");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  iwarp::apps::Run run;
  iwarp::apps::add_demo(app, run);
  iwarp::apps::add_serve(app, run);
  iwarp::apps::add_get(app, run);
  iwarp::apps::add_put(app, run);
  iwarp::apps::add_ping(app, run);
  iwarp::apps::add_perf(app, run);
  iwarp::apps::add_conform(app, run);
  iwarp::apps::add_cost(app, run);
  iwarp::apps::add_run(app, run);
  iwarp::apps::add_info(app, run);

  // A file above the limit of this process is an error of its write, not the end of a server.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return fail(app, usage_text(app, error, argc > 1 ? argv[1] : nullptr).c_str(),
                iwarp::apps::kExitUsage);
  } catch (const iwarp::apps::UsageError& error) {
    return fail(app, error.what(), iwarp::apps::kExitUsage);
  } catch (const std::exception& error) {
    return fail(app, error.what(), iwarp::apps::kExitFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (...) {
    std::fputs("iwarp: out of memory\n", stderr);
    return iwarp::apps::kExitFailure;
  }
}
