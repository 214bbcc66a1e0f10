// SPDX-License-Identifier: Apache-2.0
// The judge of devices: chooses cases, runs them on one device of this machine, and reports what is
// wrong.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "command_line/error.hpp"
#include "command_line/program.hpp"
#include "command_line/stop.hpp"
#include "iwarp/version.hpp"
#include "judge/cases/cases.hpp"
#include "judge/command/options.hpp"
#include "judge/generated/program.hpp"
#include "judge/litmus/runner.hpp"
#include "judge/report/examine.hpp"
#include "judge/report/report.hpp"
#include "report/file.hpp"
#include "report/options.hpp"

namespace iwarp::judge {
namespace {

namespace report = apps::report;
using apps::UsageError;

struct Options : report::Options, DeviceOptions {
  Options() { timeout = 30; }
  std::uint64_t seed = 1;
  Target target() const {
    return {.device = device,
            .port = static_cast<std::uint8_t>(port),
            .gid_index = gid_index == kAnyGid ? -1 : static_cast<int>(gid_index)};
  }
  std::chrono::nanoseconds limit() const {
    return std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double>(timeout));
  }
};

/// What a run judges: cases, or sequences that are generated.
struct Choice {
  std::vector<const Case*> cases;
  std::optional<generated::Choice> sequences;
};

std::vector<const Case*> choose_cases(const Options& options) {
  const auto cases = std::views::join(all_cases());
  for (const std::string& prefix : options.only) {
    if (std::ranges::any_of(cases, [&](const Case& one) { return one.id.starts_with(prefix); })) {
      continue;
    }
    throw UsageError(fmt::format("no case id begins with \"{}\" (--list shows all cases)", prefix));
  }
  std::vector<const Case*> out;
  for (const Case& one : cases) {
    const auto is_prefix = [&](const std::string& text) { return one.id.starts_with(text); };
    const bool is_chosen = options.only.empty() || std::ranges::any_of(options.only, is_prefix);
    if (is_chosen && (!one.is_dangerous || options.dangerous)) out.push_back(&one);
  }
  if (out.empty()) throw UsageError("the cases that --only selects require --dangerous");
  return out;
}

generated::Choice choose_sequences(const Options& options) {
  auto choice = generated::parse_seeds(*options.generated);
  if (!choice) {
    throw UsageError(fmt::format("--generated={}: not FIRST..LAST", *options.generated));
  }
  choice->only = options.only;
  if (generated::kinds(*choice).empty()) {
    throw UsageError("--only selects no generated sequence (--list --generated shows all)");
  }
  return *choice;
}

Choice choose(const Options& options) {
  if (options.generated) return {.cases = {}, .sequences = choose_sequences(options)};
  return {.cases = choose_cases(options), .sequences = std::nullopt};
}

int list(const Options& options, const Choice& choice) {
  std::vector<report::Entry> entries;
  if (choice.sequences) entries = generated::kinds(*choice.sequences);
  for (const Case* what : choice.cases) entries.push_back(entry_of(*what));
  if (options.json) {
    report::ReportFile(*options.json).write(list_as_json(entries));
  } else {
    report::show(list_as_text(entries));
  }
  return 0;
}

/// Runs the cases until the end, a stop signal or the disappearance of the device.
void run_cases(const Options& options, const std::vector<const Case*>& cases,
               report::TextReport& text, report::Report& report) {
  for (const Case* what : cases) {
    text.begins(what->id);
    try {
      const Result result = run_case(*what, options.target(), options.limit());
      report.entries.push_back(entry_of(result));
      if (options.lines) report::show(lines_of(result));
      if (result.is_gone) report.ended_early = "the device " + options.device + " is gone";
    } catch (const apps::Interrupted&) {
      report.ended_early = "interrupted";
      return;
    }
    text.ended(report.entries.back());
    if (!report.ended_early.empty()) return;
  }
}

/// Runs the sequences, and writes the program of the one that differs, if any.
void run_sequences(const Options& options, const generated::Choice& choice,
                   report::TextReport& text, report::Report& report) {
  std::optional<report::ReportFile> program;
  if (!options.program.empty()) program.emplace(options.program);
  const auto found = generated::run(choice, options.target(), report);
  if (found && program) program->write(c_program(*found));
  for (const report::Entry& entry : report.entries) text.ended(entry);
}

report::Report run(const Options& options, Choice& choice, report::TextReport& text) {
  Examined device = examine(options.target(), options.limit());
  report::Report report{.about = std::move(device.about),
                        .others = {report::Outcome::kRefused, report::Outcome::kNotApplicable}};
  const auto start = std::chrono::steady_clock::now();
  if (choice.sequences) {
    choice.sequences->as_roce = !device.is_iwarp;
    run_sequences(options, *choice.sequences, text, report);
  } else {
    run_cases(options, choice.cases, text, report);
  }
  report.took = std::chrono::steady_clock::now() - start;
  return report;
}

int run_litmus(const Options& options) {
  examine(options.target(), options.limit());
  return litmus::run_files(options.target(),
                           {*options.litmus, options.runs, options.seed, options.json});
}

/// From the options to the exit status: chooses, runs, and reports.
int run_judge(const Options& options) {
  if (!options.list && options.device.empty()) {
    throw UsageError("--device is missing (ibv_devices lists them)");
  }
  if (!options.list && options.litmus) return run_litmus(options);
  Choice choice = choose(options);
  if (options.list) return list(options, choice);

  report::ReportFiles files(options.json, options.junit);
  apps::catch_stop_signals();
  const auto date = report::now();
  const bool has_text = !options.only_json() && !options.lines;
  report::TextReport text(
      [&](std::string_view out) {
        if (has_text) report::show(out);
      },
      report::is_coloured());
  const report::Report report = run(options, choice, text);

  text.summary(report);
  if (options.lines && !report.ended_early.empty()) {
    fmt::print(stderr, "ended early: {}\n", report.ended_early);
  }
  if (files.json) files.json->write(to_json(report, date));
  if (files.junit) files.junit->write(to_junit(report, date));
  const bool failed =
      std::ranges::any_of(report.entries, report::fails_run) || !report.ended_early.empty();
  return failed ? apps::kExitFailure : 0;
}

void describe(apps::cli::Command& root) {
  auto options = std::make_shared<Options>();
  root.summary =
      "Judge an RDMA device of this machine through the C interface of libibverbs and librdmacm";
  std::vector<std::string> ids;
  for (const Case& what : std::views::join(all_cases())) ids.emplace_back(what.id);
  add_device_options(root, *options);
  root.begin_group("");
  report::add_options(root, *options, std::move(ids));
  root.number("--seed", "N", options->seed, {0, 1e15}, "With --litmus: seed of the random delays");
  root.notes =
      "Exit status: 0 if no case failed, 1 if a case failed or the run is incomplete, 2 if the\n"
      "device cannot be judged or the command line is invalid.";
  root.run = [options](const apps::cli::Given&) { return run_judge(*options); };
}

}  // namespace
}  // namespace iwarp::judge

int main(int argc, char** argv) {
  return iwarp::apps::cli::run_program("iwarp_judge", iwarp::judge::describe, argc, argv,
                                       iwarp::kVersion);
}
