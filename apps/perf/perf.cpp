// SPDX-License-Identifier: Apache-2.0
// iwarp perf: measures throughput, latency and message rate between two processes, for this stack
// and for the TCP below it. This file defines the command line; apps/measure defines what is
// measured, and how.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "command_line/stop.hpp"
#include "command_line/suggest.hpp"
#include "commands.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/server.hpp"
#include "measure/measurement/processes.hpp"
#include "perf/report.hpp"
#include "usage/bill.hpp"

namespace iwarp::apps {

namespace {

using measure::Plan;
using measure::Waiting;

// Minimum length of an interval in seconds. It limits the number of intervals.
constexpr double kShortestInterval = 0.1;

struct PerfOptions {
  std::vector<std::string> words;
  bool server = false;
  bool self = false;
  std::string listen = fmt::format(":{}", kPerfPort);
  Plan plan{.size = 0, .depth = 0, .list = 0};  ///< zero stands for the test's default
  double duration = 3;
  double warm_up = 0.5;
  double interval = 1;
  std::array<bool, 4> waiting{};  ///< whether the option of each Waiting was given
  bool json = false;
  LogOptions log;
  std::optional<std::string> cost;  ///< value of --cost: the host whose costs the report uses
};

std::vector<std::string> test_names() {
  std::vector<std::string> out;
  for (const auto& known : measure::tests()) out.emplace_back(known.name);
  return out;
}

const measure::Test* test_argument(const std::string& word) {
  const auto* const test = measure::find_test(word);
  if (test != nullptr) return test;
  throw UsageError(fmt::format("unknown test \"{}\"{} (see iwarp perf --help)", cli::excerpt(word),
                               cli::did_you_mean(word, test_names())));
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

Plan make_plan(const PerfOptions& options, const std::string& test) {
  Plan plan = options.plan;
  plan.test = test_argument(test);
  plan.duration = milliseconds(options.duration);
  plan.warm_up = milliseconds(options.warm_up);
  const auto waiting = std::ranges::find(options.waiting, true) - options.waiting.begin();
  if (waiting != std::ssize(options.waiting)) plan.waiting = static_cast<Waiting>(waiting);
  measure::use_defaults(plan);
  measure::validate(plan);
  if (options.interval != 0 && !(options.interval >= kShortestInterval)) {
    throw UsageError(
        fmt::format("--interval: {} is neither 0 (none) nor in the range from {} to 3600",
                    options.interval, kShortestInterval));
  }
  return plan;
}

// Returns the host of --cost, whose text describes the client's costs only. Latency tests do not
// support --cost, because their messages go in both directions.
std::optional<usage::model::ParameterSet> cost_host(const PerfOptions& options, const Plan& plan) {
  if (!options.cost) return std::nullopt;
  if (plan.is_latency()) throw UsageError("--cost: not supported for latency tests");
  if (options.json) throw UsageError("--cost cannot be combined with --json");
  return usage::cost_host(*options.cost);
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Error("cannot write to standard output: " + errno_text());
  }
}

perf::Report run_test(const PerfOptions& options, const Plan& plan, const net::Address& server) {
  perf::Report out{.interval = options.interval,
                   .date = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))};
  if (!options.self) out.server = net::to_string(server);
  bool headed = options.json;
  const auto head = [&] {
    if (!std::exchange(headed, true)) print(perf::head_text(plan));
  };
  measure::Intervals intervals(milliseconds(options.interval), [&](const auto& interval) {
    out.intervals.push_back(interval);
    if (options.json) return;
    head();
    print(perf::interval_text(plan, interval));
  });
  out.result = measure::take_measurement(plan, server, &intervals);
  out.interrupted = finish_requested().has_value();
  head();
  return out;
}

int run_client(const PerfOptions& options) {
  if (options.words.size() != (options.self ? 1 : 2)) {
    throw UsageError(options.self ? "--self requires exactly one argument, TEST"
                                  : "HOST and TEST are required (or use --self or --server)");
  }
  const auto plan = make_plan(options, options.words.back());
  const auto host = cost_host(options, plan);
  std::unique_ptr<measure::ServerProcess> own;
  if (options.self) own = std::make_unique<measure::ServerProcess>(0, options.plan.connection.tls);
  const auto server = own ? own->address() : address_argument(options.words.front(), kPerfPort);
  catch_stop_signals();
  start_metrics(options.plan.connection.metrics);
  const auto report = run_test(options, plan, server);
  const auto& result = report.result;
  print(options.json ? perf::report_json(report) : perf::summary_text(result));
  if (host && result.messages > 0) {
    print(usage::bill(*host, result.used, result.octets(), static_cast<double>(plan.size),
                      !plan.is(measure::Operation::kRead)));
  }
  // A stop signal is the usual way to end a long measurement. This is not a failure, because there
  // are results to report.
  if (report.interrupted) {
    fmt::print(stderr, "iwarp perf: interrupted after {:.2f} of {:g} seconds{}\n", result.seconds,
               options.duration, result.confirmed ? "" : "; the server did not answer");
  }
  return 0;
}

int run_perf_server(const PerfOptions& options) {
  if (options.words.size() > 1) throw UsageError("--server accepts no HOST");
  const auto listen = address_argument(options.listen, kPerfPort);
  const measure::ServeOptions serve{
      .host = listen.host,
      .only = options.words.empty() ? nullptr : test_argument(options.words.front()),
      .tls = options.plan.connection.tls};
  catch_stop_signals();
  set_log(options.log);
  start_metrics(options.plan.connection.metrics);
  measure::Lobby lobby(listen);
  const auto local = net::to_string(net::Address{.host = listen.host, .port = lobby.port()});
  log_info("listening", "iwarp perf: listening on " + local, {{"local", local}});
  while (!stop_requested()) {
    try {
      measure::serve_client(lobby.next(), serve);
    } catch (const Interrupted&) {
      break;
    } catch (const Error& error) {
      log_event({.level = verbs::LogLevel::kWarning,
                 .event = "client_failed",
                 .message = fmt::format("client failed: {}", error.what()),
                 .fields = {{"why", error.what()}}});
    }
  }
  return 0;
}

int run_perf(const PerfOptions& options) {
  if (options.server && options.self) throw UsageError("--server cannot be combined with --self");
  return options.server ? run_perf_server(options) : run_client(options);
}

std::string test_list() {
  std::string out = "Tests:";
  for (const auto& test : measure::tests()) {
    out += fmt::format("\n  {:<14}{}", test.name, test.help);
  }
  return out;
}

void add_plan_options(cli::Command& command, PerfOptions& options) {
  command.size("--size", options.plan.size, {1, 64 << 20},
               "Bytes per message; the default is 64K for -bw tests and tcp-stream, otherwise 64");
  command.number("--duration", "SECONDS", options.duration, {0.01, 3600},
                 "Duration of the measurement");
  command.number("--warm-up", "SECONDS", options.warm_up, {0, 3600},
                 "Time to run before the measurement");
  command.number("--interval", "SECONDS", options.interval, {0, 3600},
                 "Print a line of results at this interval, at least 0.1; 0 prints none");
  command.number("--depth", "N", options.plan.depth, {1, 4096},
                 "Messages in flight per QP; the default is 16 for -bw tests and tcp-stream, 128 "
                 "for -rate tests, otherwise 1");
  command.number(
      "--list", "N", options.plan.list, {1, 4096},
      "Messages per post, at most --depth; the default is 16 for -rate tests, otherwise 1");
  command.number("--qps", "N", options.plan.qps, {1, 4096},
                 "Number of queue pairs, each with its own connection; for tcp-stream, number of "
                 "connections");
  command.number(
      "--active", "N", options.plan.active, {1, 4096},
      "Number of queue pairs that carry messages, at most --qps; the others are connected "
      "and idle; the default is all");
}

void add_mode_options(cli::Command& command, PerfOptions& options) {
  constexpr std::array kHelp{"Both ends sleep until a completion arrives; the default",
                             "Both ends poll continuously",
                             "Like --event, but the stack's threads busy-poll before they sleep",
                             "Both ends sleep in their own epoll_wait(), on the completion "
                             "channel's descriptor or, in the "
                             "TCP tests, on the socket"};
  const auto name = [](std::size_t mode) {
    return fmt::format("--{}", to_string(static_cast<Waiting>(mode)));
  };
  for (std::size_t mode = 0; mode < kHelp.size(); ++mode) {
    auto& option = command.flag(name(mode), options.waiting[mode], kHelp[mode]);
    for (std::size_t other = 0; other < mode; ++other) option.excludes(name(other));
  }
  command.flag("--check", options.plan.check, "Check every received byte, which is slower");
  command.flag("--json", options.json, "Print the report as JSON");
  add_option(command, "IWARP_METRICS", options.plan.connection);
  add_log_options(command, options.log);
  usage::add_cost_option(command, options.cost);
}

}  // namespace

cli::Command perf_command() {
  auto options = std::make_shared<PerfOptions>();
  cli::Command command(
      "perf",
      "Measure throughput, latency and message rate between two processes, over iWARP or TCP");
  command.usage =
      "iwarp perf [OPTION...] HOST[:PORT] TEST\n       iwarp perf [OPTION...] --self TEST\n"
      "       iwarp perf [OPTION...] --server [TEST]";
  command
      .arguments("TEST", options->words,
                 "The test, preceded by HOST[:PORT] of the server unless --self or --server is "
                 "given; the default port is 7175")
      .suggests(test_names());
  command.flag("--self", options->self, "Start a server process on this machine");
  command.flag("--server", options->server,
               "Serve clients, which choose the test; with TEST, allow only that test");
  command.text("--listen", "ADDR:PORT", options->listen, "With --server, the address to listen on");
  add_plan_options(command, *options);
  add_mode_options(command, *options);
  add_common_options(command, options->plan.connection);
  add_tls_options(command, options->plan.connection);
  command.notes = test_list();
  command.shown = {"iwarp perf --self write-bw     this machine, with a separate server process",
                   "iwarp perf --self tcp-stream   plain TCP, for comparison",
                   "iwarp perf --server            serve clients, one at a time",
                   "iwarp perf 192.0.2.7 send-lat --poll --json"};
  command.run = [options](const cli::Given&) { return run_perf(*options); };
  return command;
}

}  // namespace iwarp::apps
