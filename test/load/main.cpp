// SPDX-License-Identifier: Apache-2.0
// The command line of the load tests.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "load.hpp"

namespace iwarp::load {
namespace {

int run(int argc, char** argv) {
  CLI::App app("Load on one Rnic for each end, both on this machine");
  app.require_subcommand(1);
  Options o;
  auto* const held = app.add_subcommand("hold", "Many connections, some of them at work");
  held->add_option("--connections", o.connections)->capture_default_str();
  held->add_option("--active", o.active)->capture_default_str();
  held->add_option("--limit", o.limit, "Fail if an idle connection takes more KiB at either end");
  auto* const rated = app.add_subcommand("rate", "Connections by the second");
  auto* const soaked = app.add_subcommand("soak", "Mixed work, reconnects and registrations");
  std::size_t soak_connections = 64;
  soaked->add_option("--connections", soak_connections)->capture_default_str();
  soaked->add_option("--samples", o.samples, "Lines of the table")
      ->check(CLI::Range(6, 10'000))
      ->capture_default_str();
  soaked->add_option("--pace", o.pace, "Operations a second at most; 0: as many as it can");
  for (auto* const one : {held, rated, soaked}) {
    one->add_option("--seconds", o.seconds)->check(CLI::PositiveNumber)->capture_default_str();
    one->add_option("--at-once", o.at_once, "Connects under way")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
  }
  CLI11_PARSE(app, argc, argv);
  if (held->parsed()) return hold(o);
  if (rated->parsed()) return rate(o);
  o.connections = soak_connections;
  return soak(o);
}

}  // namespace
}  // namespace iwarp::load

int main(int argc, char** argv) try {
  return iwarp::load::run(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "load: {}\n", error.what());
  return 1;
}
