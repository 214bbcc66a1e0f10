// SPDX-License-Identifier: Apache-2.0
// iwarp conform: tests any iWARP peer against the RFCs, over the wire, and reports case by case.
// The peer is a program that speaks rping's protocol: it listens, and we connect, or the other way
// round. Refuses to test both at once; changes nothing on the peer's host.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "commands.hpp"
#include "common/error.hpp"
#include "common/options.hpp"
#include "common/stop.hpp"
#include "conform/client_command.hpp"
#include "conform/report.hpp"
#include "conform/runner.hpp"

namespace iwarp::apps {
namespace {

using conform::PeerRole;

// What CLI11 stores for a flag without a value: --json, not --json=FILE.
constexpr std::string_view kStandardOutput = "true";

struct ConformOptions {
  std::string host;
  std::string serve;
  std::string client;
  std::vector<std::string> only;
  std::string json;  ///< a file, or kStandardOutput; empty: none
  std::string junit;
  double timeout = 5;
  unsigned first_fpdu_delay = 0;
  unsigned revision = 2;
  bool should = false;
  bool list = false;
  bool verbose = false;

  bool only_json() const { return json == kStandardOutput; }
  PeerRole role() const {
    if (!serve.empty()) return PeerRole::kInitiator;
    return host.empty() ? PeerRole::kEither : PeerRole::kResponder;
  }
};

void write(std::FILE* file, const std::string& text, const std::string& name) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    throw Error(name + ": " + errno_text());
  }
}

void write_file(const std::string& path, const std::string& text) {
  if (path == kStandardOutput) return write(stdout, text, "standard output");
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "w"),
                                                                &std::fclose);
  if (!file) throw Error(path + ": " + errno_text());
  write(file.get(), text, path);
}

// "7174" is a port of the loopback address; ":7174" one of all addresses.
net::Address serve_address(const std::string& text) {
  const bool bare = text.find_first_not_of("0123456789") == std::string::npos;
  return address_argument(bare ? "127.0.0.1:" + text : text, kPingPort);
}

std::vector<const conform::Case*> select_cases(const ConformOptions& options) {
  for (const std::string& only : options.only) {
    if (conform::select(PeerRole::kEither, true, {only}).empty()) {
      throw UsageError("no case and no section begins with " + only + " (see --list)");
    }
  }
  auto cases = conform::select(options.role(), options.should, options.only);
  if (cases.empty()) {
    throw UsageError("none of these cases can be run so; see --list about role and level");
  }
  return cases;
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// The peer, and what makes it connect.
class Peer {
 public:
  explicit Peer(const ConformOptions& options) {
    target_.time_limit = std::chrono::milliseconds(static_cast<int>(options.timeout * 1000));
    target_.first_fpdu_delay = std::chrono::milliseconds(options.first_fpdu_delay);
    target_.revision = static_cast<std::uint8_t>(options.revision);
    target_.verbose = options.verbose;
    if (options.serve.empty()) {
      target_.address = address_argument(options.host, kPingPort);
      name_ = to_string(target_.address);
    } else {
      listen(options);
    }
  }

  const conform::Target& target() const { return target_; }
  const std::string& name() const { return name_; }

 private:
  void listen(const ConformOptions& options) {
    auto address = serve_address(options.serve);
    acceptor_ = std::make_unique<conform::Acceptor>(address);
    address.port = acceptor_->port();
    target_.acceptor = acceptor_.get();
    name_ = options.client.empty() ? "whoever connects" : options.client;
    fmt::print(stderr, "listening on {}\n", to_string(address));
    if (options.client.empty()) {
      target_.patient = true;
      fmt::print(stderr,
                 "waiting for the peer to connect, once and again: a case needs one\n"
                 "connection or a few\n");
      return;
    }
    client_ =
        std::make_unique<conform::ClientCommand>(options.client, address.port, options.verbose);
    target_.call = [this] {
      client_->stop();
      acceptor_->turn_away();
      client_->start();
    };
  }

  conform::Target target_;
  std::string name_;
  std::unique_ptr<conform::Acceptor> acceptor_;
  std::unique_ptr<conform::ClientCommand> client_;
};

int list_cases(const ConformOptions& options) {
  const auto cases = select_cases(options);
  if (options.json.empty()) {
    write(stdout, list_as_text(cases), "standard output");
  } else {
    write_file(options.json, list_as_json(cases));
  }
  return 0;
}

void check_usage(const ConformOptions& options) {
  if (!options.host.empty() && !options.serve.empty()) {
    throw UsageError("HOST for a peer that listens, --serve for one that connects; not both");
  }
  if (options.role() == PeerRole::kEither && !options.list) {
    throw UsageError("HOST is missing (or --serve)");
  }
  if (!options.client.empty() && options.serve.empty()) throw UsageError("--client needs --serve");
}

int run_conform(const ConformOptions& options) {
  check_usage(options);
  if (options.list) return list_cases(options);
  const auto cases = select_cases(options);
  catch_stop_signals();
  const auto date = now();
  Peer peer(options);
  conform::Report report{.peer = peer.name(), .role = options.role(), .should = options.should};

  const bool terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  conform::TextReport text(
      [&](std::string_view out) {
        if (options.only_json()) return;
        fmt::print("{}", out);
        std::fflush(stdout);
      },
      terminal);
  conform::run_all(cases, peer.target(),
                   {.begins = [&](const conform::Case& what) { text.begins(what); },
                    .ended = [&](const conform::Result& result) { text.ended(result); }},
                   report);
  text.summary(report);
  if (!options.json.empty()) write_file(options.json, to_json(report, date));
  if (!options.junit.empty()) write_file(options.junit, to_junit(report, date));
  const bool failed = count(report.results).must_failed != 0 || !report.ended_early.empty();
  return failed ? kExitFailure : 0;
}

void add_options(CLI::App& command, ConformOptions& options) {
  command
      .add_option("HOST", options.host,
                  "The peer that listens: HOST, HOST:PORT or [V6]:PORT;\nthe port is 7174")
      ->type_name("");
  command
      .add_option("--serve", options.serve,
                  "Test a peer that connects: wait for it here. A port\n"
                  "alone is one of the loopback address")
      ->type_name("ADDR:PORT");
  command
      .add_option("--client", options.client,
                  "With --serve: makes the peer connect once more; run by\n"
                  "/bin/sh, %p is the port. Without it: you do")
      ->type_name("COMMAND");
  command
      .add_option("--only", options.only,
                  "Only cases whose id or section begins so, such as\n"
                  "mpa/crc, \"5044 4\" or 5041; may be repeated")
      ->type_name("ID|SECTION")
      ->expected(1)
      ->take_all();
  command.add_flag("--should", options.should, "Also what the RFCs only recommend");
  command.add_flag("--list", options.list, "Show the cases and run none");
  command.add_flag("--json", options.json, "The report as JSON; --json=FILE: into a file");
  command.add_option("--junit", options.junit, "The report as JUnit XML")->type_name("FILE");
  command.add_option("--timeout", options.timeout, "Longest time for one connection of a case")
      ->check(without_name(CLI::Range(0.1, 3600.0)))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--first-fpdu-delay", options.first_fpdu_delay,
                  "Wait between the Reply and our first FPDU: for peers\n"
                  "that lose one that comes at once")
      ->check(without_name(CLI::Range(0U, 60'000U)))
      ->type_name("MS")
      ->capture_default_str();
  command
      .add_option("--mpa-rev", options.revision,
                  "With HOST: 1 for a peer that knows RFC 5044 only;\n"
                  "what is about RFC 6581 is skipped then")
      ->check(without_name(CLI::Range(1U, 2U)))
      ->type_name("1|2")
      ->capture_default_str();
  command.add_flag("-v,--verbose", options.verbose, "Show the frames of each case in layers");
}

}  // namespace

void add_conform(CLI::App& app, Run& run) {
  auto options = std::make_shared<ConformOptions>();
  auto* command = app.add_subcommand("conform", "Test an iWARP peer against the RFCs");
  command->footer(
      "The peer speaks rping's protocol: rping -s -P, rping -c, iwarp ping. Exit status: 1 when a\n"
      "MUST is broken, 0 when none is; a SHOULD that is not met is shown and does not count.\n"
      "Examples:\n"
      "  iwarp conform 192.0.2.7                    a peer that listens on port 7174\n"
      "  iwarp conform 192.0.2.7 --only mpa/crc -v  a few cases, with every frame\n"
      "  iwarp conform --serve 7174 --client 'iwarp ping 127.0.0.1:%p --count 1'\n"
      "                                             a peer that connects\n"
      "  iwarp conform --list --only 5041           what would be tested");
  add_options(*command, *options);
  command->callback([&run, options] { run = [options] { return run_conform(*options); }; });
}

}  // namespace iwarp::apps
