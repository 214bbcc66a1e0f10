// SPDX-License-Identifier: Apache-2.0
// iwarp perf: throughput, latency and message rate of this stack, and of the TCP under it, between
// two processes. The command line; what is measured and how: plan, session, roles.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "common/server.hpp"
#include "common/stop.hpp"
#include "cost/live.hpp"
#include "perf/control.hpp"
#include "perf/self.hpp"
#include "perf/session.hpp"

namespace iwarp::apps {

namespace {

using perf::Plan;
using perf::Waiting;

struct PerfOptions {
  std::vector<std::string> words;
  bool server = false;
  bool self = false;
  std::string listen = fmt::format(":{}", kPerfPort);
  Plan plan{.list = 0};
  double duration = 3;
  double warm_up = 0.5;
  bool poll = false;
  bool event = false;
  bool busy_poll = false;
  bool json = false;
  std::optional<std::string> cost;  ///< --cost: by which host
};

const perf::Test* test_argument(const std::string& word) {
  const auto* const test = perf::find_test(word);
  if (test != nullptr) return test;
  std::string names;
  for (const auto& known : perf::tests()) names += fmt::format(" {}", known.name);
  throw UsageError(fmt::format("there is no test {}; there are{}", word, names));
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

Plan make_plan(const PerfOptions& options, const std::string& test) {
  Plan plan = options.plan;
  plan.test = test_argument(test);
  plan.duration = milliseconds(options.duration);
  plan.warm_up = milliseconds(options.warm_up);
  if (options.poll) plan.waiting = Waiting::kPoll;
  if (options.busy_poll) plan.waiting = Waiting::kBusyPoll;
  perf::set_defaults(plan);
  perf::validate(plan);
  return plan;
}

// What the client's end cost. A ping-pong goes both ways, which the ledger does not have.
std::string bill(const PerfOptions& options, const perf::Report& report) {
  const bool sender = report.plan.test->operation != perf::Operation::kRead;
  return cost::bill(cost::cost_host(*options.cost), report.observed, report.octets(),
                    static_cast<double>(report.plan.size), sender);
}

void check_cost(const PerfOptions& options, const Plan& plan) {
  if (!options.cost) return;
  if (plan.is_latency()) throw UsageError("--cost is for streams and rates");
  if (options.json) throw UsageError("--cost is text, and does not go with --json");
  cost::cost_host(*options.cost);  // or it is said before anything is measured
}

int run_client(const PerfOptions& options) {
  if (options.words.size() != (options.self ? 1 : 2)) {
    throw UsageError(options.self ? "--self takes one word, TEST"
                                  : "HOST and TEST are needed (or --self, or --server)");
  }
  const auto plan = make_plan(options, options.words.back());
  check_cost(options, plan);
  std::unique_ptr<perf::ServerProcess> own;
  if (options.self) own = std::make_unique<perf::ServerProcess>();
  const auto server = own ? own->address() : address_argument(options.words.front(), kPerfPort);
  catch_stop_signals();
  const auto report = perf::measure(plan, server);
  std::fputs((options.json ? report_json(report) : report_text(report)).c_str(), stdout);
  if (options.cost && report.outcome.messages > 0)
    std::fputs(bill(options, report).c_str(), stdout);
  return 0;
}

int run_perf_server(const PerfOptions& options) {
  if (options.words.size() > 1) throw UsageError("--server takes no HOST");
  const auto listen = address_argument(options.listen, kPerfPort);
  const perf::ServeOptions serve{
      .host = listen.host,
      .only = options.words.empty() ? nullptr : test_argument(options.words.front())};
  catch_stop_signals();
  conform::Acceptor acceptor(listen);
  log_line("iwarp perf: listening on " +
           net::to_string(net::Address{.host = listen.host, .port = acceptor.port()}));
  while (!stop_requested()) {
    try {
      auto link = acceptor.accept(perf::Clock::now() + std::chrono::hours(1));
      if (link) perf::serve_client(std::move(link), serve);
    } catch (const Interrupted&) {
      break;
    } catch (const Error& error) {
      log_line(fmt::format("a client: {}", error.what()));
    }
  }
  return 0;
}

int run_perf(const PerfOptions& options) {
  if (options.server && options.self) throw UsageError("--server and --self exclude each other");
  return options.server ? run_perf_server(options) : run_client(options);
}

std::string test_list() {
  std::string out = "Tests:\n";
  for (const auto& test : perf::tests()) out += fmt::format("  {:<14}{}\n", test.name, test.help);
  return out;
}

void add_plan_options(CLI::App& command, PerfOptions& options) {
  command.add_option("--size", options.plan.size, "Octets of a message; 64K for -bw, else 64")
      ->transform(size_suffix())
      ->type_name("N");
  command.add_option("--duration", options.duration, "Seconds that count")
      ->check(without_name(CLI::Range(0.01, 3600.0)))
      ->type_name("S")
      ->capture_default_str();
  command.add_option("--warm-up", options.warm_up, "Seconds before, that do not")
      ->check(without_name(CLI::Range(0.0, 3600.0)))
      ->type_name("S")
      ->capture_default_str();
  command
      .add_option("--depth", options.plan.depth,
                  "Messages under way per QP; 16 for -bw, 128 for -rate")
      ->check(without_name(CLI::PositiveNumber))
      ->type_name("N");
  command
      .add_option("--list", options.plan.list, "Messages posted at a time; 16 for -rate, else 1")
      ->check(without_name(CLI::PositiveNumber))
      ->type_name("N");
  command.add_option("--qps", options.plan.qps, "Queue pairs, each with a connection")
      ->check(without_name(CLI::PositiveNumber))
      ->type_name("N")
      ->capture_default_str();
}

void add_mode_options(CLI::App& command, PerfOptions& options) {
  auto* const event = command.add_flag("--event", options.event,
                                       "Both ends sleep until there is a completion; the default");
  auto* const poll =
      command.add_flag("--poll", options.poll, "Both ends poll without a pause")->excludes(event);
  command
      .add_flag("--busy-poll", options.busy_poll,
                "As --event, but the stack's threads poll for a while\nbefore they sleep")
      ->excludes(event)
      ->excludes(poll);
  command.add_flag("--check", options.plan.check, "Compare every octet that arrives; slower");
  command.add_flag("--json", options.json, "As JSON");
  cost::add_cost_option(command, options.cost);
}

}  // namespace

void add_perf(CLI::App& app, Run& run) {
  auto options = std::make_shared<PerfOptions>();
  auto* command = app.add_subcommand(
      "perf", "Measure throughput, latency and rate, of TCP too, between two processes");
  command->footer(
      test_list() +
      "Examples:\n"
      "  iwarp perf --self write-bw              this machine, with a server process of its own\n"
      "  iwarp perf --self tcp-stream            what the TCP under it gives\n"
      "  iwarp perf --server                     serve one client after the other\n"
      "  iwarp perf 192.0.2.7 send-lat --poll --json");
  command->add_option("WORDS", options->words, "[HOST[:PORT]] TEST; the port is 7175")
      ->type_name("")
      ->expected(0, 2);
  command->add_flag("--self", options->self, "Start the server here, as a process of its own");
  command->add_flag("--server", options->server,
                    "Serve clients, who say what; with TEST only that");
  command->add_option("--listen", options->listen, "With --server: where")
      ->type_name("ADDR:PORT")
      ->capture_default_str();
  add_plan_options(*command, *options);
  add_mode_options(*command, *options);
  add_common_options(*command, options->plan.connection);
  command->callback([&run, options] { run = [options] { return run_perf(*options); }; });
}

}  // namespace iwarp::apps
