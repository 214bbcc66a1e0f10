// SPDX-License-Identifier: Apache-2.0
// iwarp conform: tests any iWARP peer against the RFCs, over the wire, and reports case by case.
#include <fmt/format.h>

#include "commands.hpp"
#include "common/error.hpp"
#include "common/options.hpp"
#include "conform/runner.hpp"

namespace iwarp::apps {
namespace {

constexpr std::uint16_t kPort = 7174;  // where iwarp ping --server and rping -s listen

struct ConformOptions {
  std::string host;
  std::string serve;
  std::vector<std::string> only;
  bool should = false;
  bool verbose = false;
};

int run_conform(const ConformOptions& options) {
  conform::Target target{.verbose = options.verbose};
  std::unique_ptr<conform::Acceptor> acceptor;
  if (options.serve.empty()) {
    target.address = check(net::parse_address(options.host, kPort), options.host);
  } else {
    acceptor = std::make_unique<conform::Acceptor>(
        check(net::parse_address(options.serve, kPort), options.serve));
    target.acceptor = acceptor.get();
  }
  bool failed = false;
  for (const auto* what : conform::select(target.peer_role(), options.should, options.only)) {
    const auto result = conform::run_case(*what, target);
    constexpr const char* kWords[] = {"pass", "FAIL", "skip"};
    fmt::print("{} {} [{}]\n", kWords[static_cast<int>(result.outcome)], what->id,
               what->requirements);
    if (result.outcome == conform::Outcome::kFail) {
      fmt::print("     expected: {}\n     came:     {}\n", result.expected, result.came);
      failed = true;
    }
    if (result.outcome == conform::Outcome::kSkip) fmt::print("     {}\n", result.why);
    fmt::print("{}", result.record);
  }
  return failed ? kExitFailure : 0;
}

}  // namespace

void add_conform(CLI::App& app, Run& run) {
  auto options = std::make_shared<ConformOptions>();
  auto* command = app.add_subcommand("conform", "Test an iWARP peer against the RFCs");
  command->add_option("HOST", options->host, "The peer that listens: HOST:PORT")->type_name("");
  command->add_option("--serve", options->serve, "Wait here for the peer to connect");
  command->add_option("--only", options->only, "Only cases whose id or section begins so");
  command->add_flag("--should", options->should, "SHOULD cases too");
  command->add_flag("-v,--verbose", options->verbose, "Show the frames in layers");
  command->callback([&run, options] { run = [options] { return run_conform(*options); }; });
}

}  // namespace iwarp::apps
