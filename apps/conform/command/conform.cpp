// SPDX-License-Identifier: Apache-2.0
// iwarp conform: tests an iWARP peer against the RFCs, over the wire, and reports the result of
// each case. The peer is a program that speaks rping's protocol. Either the peer listens and the
// tester connects, or the peer connects and the tester listens; one run tests the peer in one of
// these roles. The command changes nothing on the peer's host. With --device, the judge of devices
// runs instead (judge_command.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/error.hpp"
#include "common/connection/options.hpp"
#include "conform/command/client_command.hpp"
#include "conform/command/judge_command.hpp"
#include "conform/generated/generated.hpp"
#include "conform/report/report.hpp"
#include "conform/report/runner.hpp"
#include "conform/script/exchange.hpp"
#include "judge/command/options.hpp"
#include "report/file.hpp"
#include "report/options.hpp"

namespace iwarp::apps {
namespace {

using conform::PeerRole;

struct ConformOptions : report::Options {
  judge::DeviceOptions device;
  std::string as;
  std::string like;
  std::string host;
  std::string serve;
  std::string client;
  unsigned first_fpdu_delay = 0;
  unsigned revision = 2;
  bool should = false;
  bool verbose = false;
  conform::generated::Choice choice;
  unsigned silence = 100;
  bool no_crc = false;

  PeerRole role() const {
    if (!serve.empty()) return PeerRole::kInitiator;
    return host.empty() ? PeerRole::kEither : PeerRole::kResponder;
  }
};

// Parses the argument of --serve. A port without an address selects all addresses, as ":7174" does,
// because the peer usually runs on another machine.
net::Address serve_address(const std::string& text) {
  const bool bare = text.find_first_not_of("0123456789") == std::string::npos;
  return address_argument(bare ? ":" + text : text, kPingPort);
}

std::vector<const conform::Case*> select_cases(const ConformOptions& options) {
  for (const std::string& only : options.only) {
    if (conform::select(PeerRole::kEither, true, {only}).empty()) {
      throw UsageError(fmt::format(
          "no case id or section begins with \"{}\" (--list --should shows all cases)", only));
    }
  }
  auto cases = conform::select(options.role(), options.should, options.only);
  if (cases.empty()) {
    throw UsageError(
        "the cases that --only selects require --should or a peer in the other role (--list "
        "--should shows the level and role of each case)");
  }
  return cases;
}

/// The peer under test: the address of a listening peer, or the acceptor of a connecting peer and,
/// if there is one, the client command that makes this peer connect again.
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
  /// Throws UsageError if the peer does not serve rping's exchange. Does not check a peer that is
  /// started by hand, because the check needs a connection.
  void check() const {
    if (target_.waits_without_limit) return;
    const auto instead = conform::answered_instead(target_);
    if (!instead) return;
    throw UsageError(
        fmt::format("the peer ({}) does not speak rping's protocol over iWARP; observed {} "
                    "(see rfc-notes/conform.md, \"Which peers can be tested\")",
                    name_, *instead));
  }

 private:
  void listen(const ConformOptions& options) {
    auto address = serve_address(options.serve);
    acceptor_ = std::make_unique<conform::Acceptor>(address);
    address.port = acceptor_->port();
    target_.acceptor = acceptor_.get();
    name_ = options.client.empty() ? "a connecting peer" : options.client;
    fmt::print(stderr, "listening on {}\n", to_string(address));
    if (options.client.empty()) {
      target_.waits_without_limit = true;
      fmt::print(stderr,
                 "waiting for the peer to connect repeatedly: each case or session needs one or\n"
                 "more connections\n");
      return;
    }
    client_ =
        std::make_unique<conform::ClientCommand>(options.client, address.port, options.verbose);
    target_.call = [this] {
      client_->stop();
      acceptor_->turn_away();
      client_->start();
    };
    target_.call_failure = [this] { return client_->failure(); };
  }

  conform::Target target_;
  std::string name_;
  std::unique_ptr<conform::Acceptor> acceptor_;
  std::unique_ptr<conform::ClientCommand> client_;
};

int list_cases(const ConformOptions& options) {
  const auto cases = select_cases(options);
  if (!options.json) {
    report::show(list_as_text(cases));
  } else {
    std::vector<report::Entry> entries;
    entries.reserve(cases.size());
    for (const auto* what : cases) entries.push_back(conform::entry_of(*what));
    report::ReportFile(*options.json).write(list_as_json(entries));
  }
  return 0;
}

void check_usage(const ConformOptions& options) {
  if (!options.as.empty() || !options.like.empty()) {
    throw UsageError("--as and --like require --device");
  }
  if (!options.host.empty() && !options.serve.empty()) {
    throw UsageError(
        "HOST and --serve exclude each other (HOST is for a listening peer, --serve for a "
        "connecting peer)");
  }
  if (options.role() == PeerRole::kEither && !options.list) {
    throw UsageError("HOST is missing (give the address of a listening peer, or use --serve)");
  }
  if (!options.client.empty() && options.serve.empty())
    throw UsageError("--client requires --serve");
  if (options.generated && !options.generated->empty()) {
    throw UsageError("--generated=FIRST..LAST requires --device");
  }
  if (options.device.litmus) throw UsageError("--litmus requires --device");
}

int run_generated(const ConformOptions& options) {
  auto choice = options.choice;
  choice.only = options.only;
  const auto sessions = conform::generated::choose(options.role(), choice);
  if (sessions.empty())
    throw UsageError(
        "--only, --after and --cases select no session (--list without these options shows all "
        "sessions; a session whose id begins with read-asked or in-read-response requires HOST)");
  if (options.list) {
    for (const auto& session : sessions) fmt::print("{}\n", session.id());
    return 0;
  }
  report::ReportFiles files(options.json, options.junit);
  catch_stop_signals();
  const auto date = report::now();
  Peer peer(options);
  peer.check();
  conform::generated::Run run{
      .peer = peer.name(), .role = options.role(), .seed = choice.seed, .outcomes = {}};
  const auto show = [&](const std::string& text) {
    if (!options.only_json()) report::show(text);
  };
  conform::generated::run(
      sessions, peer.target(),
      {.silence = std::chrono::milliseconds(options.silence), .crc = !options.no_crc},
      [&](const conform::generated::Outcome& outcome) { show(line(outcome)); }, run);
  show(summary(run));
  if (files.json) files.json->write(to_json(run, date));
  const bool right = std::ranges::all_of(
      run.outcomes, [](const auto& outcome) { return outcome.right && outcome.headers.empty(); });
  return right && run.ended_early.empty() ? 0 : kExitFailure;
}

/// Runs the judge of devices instead of this command.
[[noreturn]] void judge_device(const cli::Given& given, const ConformOptions& options) {
  if (options.role() != PeerRole::kEither) {
    throw UsageError(
        "--device cannot be combined with HOST or --serve (--device judges a device of this "
        "machine, HOST and --serve test a peer)");
  }
  std::vector<std::string> run_options;
  std::vector<std::string> words;
  for (const std::string& word : given.options) {
    const bool is_of_run = word.starts_with("--as=") || word.starts_with("--like=");
    (is_of_run ? run_options : words).push_back(word);
  }
  conform::become_judge(run_options, words);
}

int run_conform(const cli::Given& given, const ConformOptions& options) {
  if (!options.device.device.empty()) judge_device(given, options);
  check_usage(options);
  if (options.generated) return run_generated(options);
  if (options.list) return list_cases(options);
  const auto cases = select_cases(options);
  report::ReportFiles files(options.json, options.junit);
  catch_stop_signals();
  const auto date = report::now();
  Peer peer(options);
  peer.check();
  conform::Report results{.peer = peer.name(), .role = options.role(), .should = options.should};

  report::TextReport text(
      [&](std::string_view out) {
        if (!options.only_json()) report::show(out);
      },
      report::is_coloured());
  conform::run_all(cases, peer.target(),
                   {.begins = [&](const conform::Case& what) { text.begins(what.id); },
                    .ended = [&](const conform::Result& result) { text.ended(entry_of(result)); }},
                   results);
  const report::Report report = report_of(results);
  text.summary(report);
  if (files.json) files.json->write(to_json(report, date));
  if (files.junit) files.junit->write(to_junit(report, date));
  const bool failed =
      std::ranges::any_of(report.entries, report::fails_run) || !report.ended_early.empty();
  return failed ? kExitFailure : 0;
}

std::vector<std::string> case_ids() {
  std::vector<std::string> out;
  for (const auto* what : conform::select(PeerRole::kEither, true, {})) out.emplace_back(what->id);
  return out;
}

void add_options(cli::Command& command, ConformOptions& options) {
  command.argument("HOST", options.host,
                   "A listening peer: HOST, HOST:PORT or [V6]:PORT; the default port is 7174");
  command.text("--serve", "ADDR:PORT", options.serve,
               "Test a connecting peer: listen on this address; the default port is 7174. A port "
               "without an address means all addresses");
  command.text(
      "--client", "COMMAND", options.client,
      "With --serve: shell command that makes the peer connect. The command runs once for each "
      "connection, and %p in the command stands for the port. Without --client, start the peer by "
      "hand");
  command.flag("--should", options.should, "Test the recommendations (SHOULD) of the RFCs as well");
  report::add_options(command, options, case_ids());
  command.number(
      "--first-fpdu-delay", "MS", options.first_fpdu_delay, {0, 60'000},
      "With HOST: time to wait after the peer's Reply before sending the first FPDU; some "
      "peers lose an FPDU that arrives immediately");
  command.number("--mpa-rev", "1|2", options.revision, {1, 2},
                 "With HOST: highest MPA revision to use. 1 skips the cases about RFC 6581, for "
                 "peers that support only RFC 5044");
  command.number(
      "--cases", "N", options.choice.cases, {0, 1'000'000},
      "With --generated: number of random sessions that change one field; 0 means all. --only and "
      "--after select from these sessions");
  command.number("--pairs", "N", options.choice.pairs, {0, 1'000'000},
                 "With --generated: number of random sessions that change two fields, in addition "
                 "to the sessions of --cases");
  command.number(
      "--seed", "N", options.choice.seed, {0, 1e15},
      "With --generated: seed for the random choice of sessions. With --litmus: seed for "
      "the random delays between the statements");
  command.text("--after", "ID", options.choice.after,
               "With --generated: run only the sessions that follow session ID");
  command.number(
      "--silence", "MS", options.silence, {1, 60'000},
      "With --generated: time to wait for the peer's reaction to the tested message, before "
      "a Read tests whether the peer still answers");
  command.flag("--no-crc", options.no_crc, "With --generated: do not request CRCs");
  command.flag("-v,--verbose", options.verbose,
               "Show every frame of each case, layer by layer; with --generated, only the frames "
               "of failed sessions");
  judge::add_device_options(command, options.device);
  command.choice("--as", options.as, {"iwarp", "roce"},
                 "With --device: judge the device that a program sees under iwarp run --as");
  command.text("--like", "CARD", options.like,
               "With --device: judge the device that a program sees under iwarp run --like");
}

}  // namespace

cli::Command conform_command() {
  auto options = std::make_shared<ConformOptions>();
  cli::Command command("conform", "Test an iWARP peer against the RFCs, or judge an RDMA device");
  add_options(command, *options);
  command.notes =
      "The peer must speak rping's protocol (rping -s -P, rping -c or iwarp ping).\n"
      "Exit status: 0 if the peer violates no MUST, 1 if it violates a MUST or the run is\n"
      "incomplete, 2 if the peer does not speak rping's protocol. A violated SHOULD is\n"
      "reported, but does not change the exit status.";
  command.statuses[0].when =
      "the peer violates no MUST; a violated SHOULD does not change the status";
  command.statuses[1].when = "the peer violates a MUST, or could not be tested";
  command.shown = {"iwarp conform 192.0.2.7                    a peer listening on port 7174",
                   "iwarp conform 192.0.2.7 --only mpa/crc -v  a few cases, with every frame",
                   "iwarp conform --serve 7174 --client 'iwarp ping 127.0.0.1:%p --count 1'",
                   "                                           a connecting peer",
                   "iwarp conform --list --only 5041           list the cases",
                   "iwarp conform --device iwarp0 --as roce    judge the device of this stack",
                   "iwarp conform --device rxe0 --only qp/     judge a device of the kernel",
                   "iwarp conform --device rxe0 --litmus       the memory ordering of the device"};
  command.run = [options](const cli::Given& given) { return run_conform(given, *options); };
  return command;
}

}  // namespace iwarp::apps
