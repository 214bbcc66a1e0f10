// SPDX-License-Identifier: Apache-2.0
// The judge of devices: runs the cases on one device of this machine and reports what is wrong.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstring>

#include "command_line/error.hpp"
#include "command_line/program.hpp"
#include "command_line/stop.hpp"
#include "iwarp/version.hpp"
#include "judge/cases/cases.hpp"
#include "judge/command/options.hpp"
#include "judge/generated/program.hpp"
#include "judge/litmus/runner.hpp"
#include "judge/report/report.hpp"
#include "judge/tools/objects.hpp"
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

/// The cases in the order of the tables, but the areas together.
std::vector<const Case*> select_cases(const Options& options) {
  std::vector<std::string_view> areas;
  std::vector<const Case*> out;
  const auto area_of = [](const Case* what) { return what->id.substr(0, what->id.find('/')); };
  std::vector<bool> is_used(options.only.size());
  for (const auto table : all_cases()) {
    for (const Case& what : table) {
      bool is_chosen = options.only.empty();
      for (std::size_t i = 0; i < options.only.size(); ++i) {
        if (!what.id.starts_with(options.only[i])) continue;
        is_used[i] = is_chosen = true;
      }
      if (!is_chosen || (what.is_dangerous && !options.dangerous)) continue;
      out.push_back(&what);
      const auto area = area_of(&what);
      if (std::ranges::find(areas, area) == areas.end()) areas.push_back(area);
    }
  }
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) continue;
    throw UsageError(
        fmt::format("no case id begins with \"{}\" (--list shows all cases)", options.only[i]));
  }
  if (out.empty()) throw UsageError("the cases that --only selects require --dangerous");
  std::vector<const Case*> sorted;
  sorted.reserve(out.size());
  for (const std::string_view area : areas) {
    std::ranges::copy_if(out, std::back_inserter(sorted),
                         [&](const Case* what) { return area_of(what) == area; });
  }
  return sorted;
}

std::string_view transport_name(ibv_transport_type transport) {
  if (transport == IBV_TRANSPORT_IWARP) return "iWARP";
  return transport == IBV_TRANSPORT_IB ? "InfiniBand or RoCE" : "another transport";
}

/// Finds out about the device before the first case. What makes all cases impossible ends the case
/// as not applicable, with the text that the user sees.
void examine(Judge& judge) {
  const auto impossible = [&](const std::string& why) { judge.not_applicable(why); };
  const Target& target = judge.target();
  const auto names = judge.devices();
  if (std::ranges::find(names, target.device) == names.end()) {
    impossible(fmt::format("unknown device \"{}\" ({})", target.device,
                           names.empty()
                               ? "this machine has no RDMA device; iwarp conform --as iwarp or "
                                 "--as roce judges the device of iwarp run"
                               : fmt::format("the devices are: {}", fmt::join(names, " "))));
  }
  const Context context(ibv_open_device(judge.device()));
  if (!context) {
    const int code = errno;
    impossible(fmt::format("{}: ibv_open_device: {}{}", target.device, errno_name(code),
                           code == EACCES || code == EPERM
                               ? " (the user needs access to /dev/infiniband/uverbs*)"
                               : ""));
  }
  ibv_device_attr device{};
  ibv_port_attr port{};
  if (const int code = ibv_query_device(context.get(), &device); code != 0) {
    impossible(fmt::format("{}: ibv_query_device: {}", target.device, errno_name(code)));
  }
  if (target.port > device.phys_port_cnt) {
    impossible(fmt::format("--port {}: the last port of {} is {}", target.port, target.device,
                           device.phys_port_cnt));
  }
  if (const int code = ibv_query_port(context.get(), target.port, &port); code != 0) {
    impossible(fmt::format("{}: ibv_query_port: {}", target.device, errno_name(code)));
  }
  if (target.gid_index >= port.gid_tbl_len) {
    impossible(fmt::format("--gid-index {}: the GID table of {} has {} entries", target.gid_index,
                           target.device, port.gid_tbl_len));
  }
  judge.expect_text("transport", transport_name(judge.device()->transport_type), {});
  judge.expect_text("firmware", device.fw_ver, {});
}

constexpr Case kExamine{.id = "", .title = "", .run = examine};

/// Returns what the run judges, for the head of the report. Throws UsageError if the device cannot
/// be judged.
std::vector<std::pair<std::string, std::string>> examine_device(const Options& options) {
  const Result result = run_case(kExamine, options.target(), options.limit());
  if (result.verdict == report::Outcome::kNotApplicable) throw UsageError(result.why);
  if (!result.why.empty()) throw UsageError(fmt::format("{}: {}", options.device, result.why));
  std::vector<std::pair<std::string, std::string>> out{{"device", options.device}};
  for (const Observation& one : result.observations) out.emplace_back(one.step, one.observed);
  utsname machine{};
  ::uname(&machine);
  out.emplace_back("kernel", machine.release);
  return out;
}

/// Runs the cases until the end, a stop signal or the disappearance of the device.
void run_cases(const Options& options, const std::vector<const Case*>& cases,
               report::TextReport& text, report::Report& report) {
  const auto start = std::chrono::steady_clock::now();
  for (const Case* what : cases) {
    text.begins(what->id);
    try {
      const Result result = run_case(*what, options.target(), options.limit());
      report.entries.push_back(entry_of(result));
      if (options.lines) report::show(lines_of(result));
      if (result.is_gone) report.ended_early = "the device " + options.device + " is gone";
    } catch (const apps::Interrupted&) {
      report.ended_early = "interrupted";
    }
    if (report.ended_early != "interrupted") text.ended(report.entries.back());
    if (!report.ended_early.empty()) break;
  }
  report.took = std::chrono::steady_clock::now() - start;
}

/// Runs the generated sequences, and writes the program of the one that differs, if any.
void run_sequences(const Options& options, generated::Choice choice, report::TextReport& text,
                   report::Report& report) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<report::ReportFile> program;
  if (!options.program.empty()) program.emplace(options.program);
  choice.as_roce = report.about[1].second != transport_name(IBV_TRANSPORT_IWARP);
  const auto found = generated::run(choice, options.target(), report);
  if (found && program) program->write(c_program(*found));
  for (const report::Entry& entry : report.entries) text.ended(entry);
  report.took = std::chrono::steady_clock::now() - start;
}

generated::Choice choice_of(const Options& options) {
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

int list_cases(const Options& options) {
  std::vector<report::Entry> entries;
  if (options.generated) entries = generated::kinds(choice_of(options));
  if (!options.generated) {
    for (const Case* what : select_cases(options)) entries.push_back(entry_of(*what));
  }
  if (!options.json) {
    report::show(list_as_text(entries));
    return 0;
  }
  report::ReportFile(*options.json).write(list_as_json(entries));
  return 0;
}

int run_judge(const Options& options) {
  if (options.list) return list_cases(options);
  if (options.device.empty()) throw UsageError("--device is missing (ibv_devices lists them)");
  if (options.litmus) {
    examine_device(options);
    return litmus::run_files(options.target(),
                             {*options.litmus, options.runs, options.seed, options.json});
  }
  std::vector<const Case*> cases;
  std::optional<generated::Choice> choice;
  if (options.generated) choice = choice_of(options);
  if (!options.generated) cases = select_cases(options);
  report::ReportFiles files(options.json, options.junit);
  apps::catch_stop_signals();
  const auto date = report::now();
  report::Report report{.about = examine_device(options),
                        .others = {report::Outcome::kRefused, report::Outcome::kNotApplicable}};
  const bool has_text = !options.only_json() && !options.lines;
  report::TextReport text(
      [&](std::string_view out) {
        if (has_text) report::show(out);
      },
      report::is_coloured());
  if (choice) run_sequences(options, *choice, text, report);
  if (!choice) run_cases(options, cases, text, report);
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
  for (const auto table : all_cases()) {
    for (const Case& what : table) ids.emplace_back(what.id);
  }
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
