// SPDX-License-Identifier: Apache-2.0
// The iwarp command: reads the command line, runs one subcommand, and turns what it throws into one
// line on standard error. Exit status: 0 done, 1 failed, 2 the command line makes no sense.
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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int fail(const CLI::App& app, const char* text, int status) {
  std::fprintf(stderr, "%s: %s\n", command_name(app).c_str(), text);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
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
  iwarp::apps::add_info(app, run);

  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return fail(app, first_line(error.what()).c_str(), iwarp::apps::kExitUsage);
  } catch (const iwarp::apps::UsageError& error) {
    return fail(app, error.what(), iwarp::apps::kExitUsage);
  } catch (const std::exception& error) {
    return fail(app, error.what(), iwarp::apps::kExitFailure);
  }
}
