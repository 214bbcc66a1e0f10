// SPDX-License-Identifier: Apache-2.0
// iwarp cost validate: checks whether the model holds on this machine and reproduces the published
// figures. The exit status is 0 if all checks succeed: the figures that follow from arithmetic
// alone must be exact, and all errors must be within their bounds. It is 1 if a check fails, and 2
// if the machine is too noisy for a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "common/base/error.hpp"
#include "common/base/units.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/record.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/question.hpp"
#include "iwarp/offload_model/judge.hpp"
#include "iwarp/offload_model/published.hpp"
#include "measure/measurement/processes.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Machine;
using model::Unknown;
using model::Use;

constexpr int kExitNoise = 2;

struct ValidateOptions {
  HostOptions host;
  std::string runs;
  std::string out;
  std::string cpus = "same";
  unsigned repeat = 5;
  double seconds = 0.15;
  bool published_only = false;
};

/// Returns the runs to make: those of sweep(), and one for each combination of message size, frame
/// size, CRC and markers that the validation compares.
std::vector<Record> all_runs(const ValidateOptions& options) {
  auto out = sweep(options.seconds, options.cpus);
  const std::string best = crc32c::active().name;
  constexpr std::uint64_t kHeader = 14;
  const auto add = [&](std::uint64_t size, std::uint64_t payload, const std::string& crc,
                       bool markers) {
    out.push_back({.mode = "iwarp",
                   .crc = crc,
                   .markers = markers,
                   .size = size,
                   .fpdu = payload + kHeader,
                   .cpus = options.cpus,
                   .seconds = options.seconds});
  };
  for (const std::uint64_t size : {64U, 1024U, 16384U, 65536U, 1048576U}) {
    for (const std::uint64_t payload : {1428U, 8192U, 32768U}) {
      // Skip this frame size if a frame of half this size can already hold the whole message.
      if (payload > 1428 && payload / 2 >= size) continue;
      for (const auto& crc : {std::string("off"), std::string("portable"), best}) {
        add(size, payload, crc, false);
      }
      if (size == 65536) add(size, payload, best, true);
    }
  }
  return out;
}

/// Returns the parameters from the file that the user gave. If the user gave no file, returns the
/// results of the micro-benchmarks.
Machine machine_of(const ValidateOptions& options) {
  Machine out{.host = usage::load_host(options.host.preset, options.host.host).resolve(),
              .passes = {}};
  for (const auto& kernel : crc32c::kernels()) {
    if (kernel.supported()) {
      std::ranges::transform(
          model::kWorkingSets, out.passes[kernel.name].begin(),
          [&](std::size_t octets) { return bench_passes(kernel, octets).costs(); });
    }
  }
  out.passes["off"] = out.passes.begin()->second;
  if (!options.host.host.empty()) return out;
  auto& p = out.host;
  p.copy_tx = p.copy_rx = p.copy_llc = bench_copy(model::kWorkingSets.back()).value;
  p.syscall_tx = p.syscall_rx = 2 * bench_syscall().value;
  for (const auto& findings : {bench_wakeup(false), bench_iovec(), bench_stack()}) {
    for (const auto& [key, found] : findings) p.*model::find_field(key)->member = found.ns.value;
  }
  return out;
}

/// Returns all numbers of a machine, in the same order for each machine.
std::vector<double*> numbers_of(Machine& machine) {
  std::vector<double*> out;
  for (const auto& field : model::fields()) out.push_back(&(machine.host.*field.member));
  for (auto& [kernel, sets] : machine.passes) {
    for (auto& costs : sets) out.insert(out.end(), {&costs.copy, &costs.crc, &costs.copy_crc});
  }
  return out;
}

/// Returns the median of each number over several measurements, so that a disturbance of one
/// measurement has no effect.
Machine median_of(std::vector<Machine> machines) {
  auto out = machines.front();
  const auto numbers = numbers_of(out);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::vector<double> values;
    values.reserve(machines.size());
    for (auto& machine : machines) values.push_back(*numbers_of(machine)[i]);
    *numbers[i] = model::median(std::move(values));
  }
  return out;
}

/// Measures the machine as the runs use it: with --cpus other both processors are busy, and
/// processors that share a core or its caches slow each other down.
Machine measured_machine(const ValidateOptions& options) {
  if (options.cpus != "other") return machine_of(options);
  const Child other([]() -> int {
    measure::run_on(measure::allowed_cpus().back());
    for (;;) bench_copy(model::kWorkingSets.front());
  });
  return machine_of(options);
}

struct Measured {
  Machine machine;
  std::vector<Record> runs;
};

Measured run_all(const ValidateOptions& options) {
  const auto runs = all_runs(options);
  const StatusLine status;
  std::vector<Machine> machines;
  Measured out;
  for (unsigned round = 0; round < options.repeat; ++round) {
    machines.push_back(measured_machine(options));
    for (const auto& run : runs) {
      status.show(fmt::format("run {} of {}", out.runs.size() + 1, runs.size() * options.repeat));
      out.runs.push_back(measure(run));
    }
  }
  out.machine = median_of(std::move(machines));
  return out;
}

std::string octets_text(std::uint64_t octets) { return format_octets(static_cast<double>(octets)); }

std::string fitted_text(const model::Judgement& j) {
  const auto cost = [&j](Unknown u) { return j.sockets[static_cast<std::size_t>(u)]; };
  auto out = fmt::format(
      "Mode (a), kernel sockets, fitted costs: {:.2f} us per send, {:.2f} us per receive or wait, "
      "{:.2f} us per TSO or GRO piece, {:.3f} ns per octet, {:.1f} us per wake-up\n",
      cost(Unknown::kSend) / kNsPerUs, cost(Unknown::kReceive) / kNsPerUs,
      cost(Unknown::kPiece) / kNsPerUs, cost(Unknown::kOctet), cost(Unknown::kSwitch) / kNsPerUs);
  for (const auto& point : j.fitted) {
    const auto messages = static_cast<double>(point.run.messages);
    out += fmt::format(
        "  {:>10}, {:>6} octets per receive call: measured {:>8.2f} us, fitted {:>8.2f} us, "
        "{:+.0f} %\n",
        octets_text(point.run.size), point.run.read, point.run.cpu_ns() / messages / kNsPerUs,
        point.fitted / messages / kNsPerUs, 100 * (point.fitted / point.run.cpu_ns() - 1));
  }
  return out + fmt::format(
                   "  errors if each size is predicted by a fit to the other sizes: MAPE {:.1f} %, "
                   "p90 {:.1f} %, max {:.1f} %\n\n",
                   100 * j.left_out.mean, 100 * j.left_out.p90, 100 * j.left_out.max);
}

std::string points_text(const model::Judgement& j) {
  std::string out =
      "Mode (b), software iWARP, predicted from the fit of mode (a), micro-benchmarks and "
      "counters\n";
  out += fmt::format("{:>10}{:>8}  {:<15}{:<8}{:>11}{:>11}{:>8}{:>9}\n", "size", "ULPDU", "CRC",
                     "markers", "measured", "predicted", "error", "spread");
  for (const auto& point : j.points) {
    const auto& r = point.run;
    const auto messages = static_cast<double>(r.messages);
    out += fmt::format(
        "{:>10}{:>8}  {:<15}{:<8}{:>8.2f} us{:>8.2f} us{:>6.0f} %{:>7.0f} %\n", octets_text(r.size),
        r.fpdu, r.crc, r.markers ? "on" : "off", r.cpu_ns() / messages / kNsPerUs,
        point.predicted.total() / messages / kNsPerUs, 100 * point.error(), 100 * point.spread);
  }
  return out + fmt::format(
                   "  MAPE {:.1f} % (at most {:.0f}), p90 {:.1f} % (at most {:.0f}), max {:.1f} % "
                   "(at most {:.0f}); identical runs differ by {:.1f} % (at most {:.0f})\n",
                   100 * j.errors.mean, 100 * j.bounds.mean, 100 * j.errors.p90, 100 * j.bounds.p90,
                   100 * j.errors.max, 100 * j.bounds.max, 100 * j.spread, 100 * j.bounds.spread);
}

/// Formats the share of processor time that copying took on this machine, and the published claim
/// about this share.
std::string copies_text(const model::Judgement& j) {
  std::string out = "\n  share of processor time that sockets spend copying on this machine:\n";
  double most = 0;
  for (const auto& c : j.copies) {
    if (c.size != 64 && c.size != 4096 && c.size != 65536 && c.size != 1048576) continue;
    out += fmt::format("    {:>8}: {:.1f} to {:.1f} %\n", format_octets(c.size), 100 * c.low,
                       100 * c.high);
    most = std::max(most, c.high);
  }
  constexpr double kClaim = 0.8;
  return out +
         "    (lower bound: a memcpy of the same octets in cache; upper bound: all costs per "
         "octet)\n" +
         fmt::format(
             "  The claim \"copying takes 80 to 85 % of the processor\" is {} on this machine.\n"
             "    No source for the claim was found. The nearest published figure covers all of "
             "TCP:\n"
             "    full-duplex Gigabit Ethernet takes more than 80 % of a 2.4 GHz Pentium 4\n"
             "    (Wikipedia, TCP offload engine).\n",
             most >= kClaim ? "plausible for at least one of these sizes"
                            : "wrong for all of these sizes");
}

std::string head_of(const model::PublishedRow& row) {
  return fmt::format("  {:>2}  {} [{}] ({})\n", row.number, row.figure, row.mark, row.source);
}

/// Formats the published figures with this `use`, each with the range in which the model's value
/// must be.
std::string tolerance_text(const std::vector<model::PublishedRow>& rows, Use use,
                           std::string_view title) {
  auto out = fmt::format("\nPublished figures, {}\n", title);
  for (const auto& row : rows) {
    if (row.use != use) continue;
    out += head_of(row);
    for (const auto& c : row.checks) {
      out += fmt::format("      {} {}: {:.3g} {} ({:g} to {:g})\n", row.holds(c) ? " " : "!",
                         c.what, c.model, c.unit, c.band.low, c.band.high);
    }
    if (!row.reason.empty()) out += fmt::format("      {}\n", row.reason);
  }
  return out;
}

std::string prediction_line(const model::PublishedRow& row, const model::Check& c) {
  const auto number = [&c](double value) { return fmt::format("{:.3g} {}", value, c.unit); };
  return fmt::format("  {:>2}  {:<29}{:<5}{:<5}{:>13}{:>13}{:>7}{:>15}  {}\n", row.number, c.what,
                     row.mark, row.preset, (c.at_most ? "< " : "") + number(c.published),
                     number(c.model), c.at_most ? "" : fmt::format("{:+.0f} %", 100 * c.miss()),
                     fmt::format("{:.3g}..{:.3g}", c.band.low, c.band.high), c.verdict());
}

std::string predictions_text(const std::vector<model::PublishedRow>& rows) {
  auto out = fmt::format(
      "\nPublished figures, predicted with a preset that does not depend on the figure.\n"
      "A prediction agrees if it is within {:.0f} % of the figure, and if the upper end of its\n"
      "90 % band is at most {:g} times the lower end.\n",
      100 * model::kCriterion.miss, model::kCriterion.band);
  out += fmt::format("  {:>2}  {:<29}{:<5}{:<5}{:>13}{:>13}{:>7}{:>15}\n", "", "", "mark", "by",
                     "published", "model", "miss", "band");
  std::string sources;
  for (const auto& row : rows) {
    if (row.use != Use::kPrediction) continue;
    for (const auto& c : row.checks) out += prediction_line(row, c);
    sources += head_of(row);
    if (!row.reason.empty()) sources += fmt::format("      {}\n", row.reason);
  }
  const auto tallies = tally(rows);
  const auto& held = tallies.held_out;
  out += fmt::format(
      "Figures found after the model was finished, and compared only once: {} of {} agree.\n"
      "The 90 % bands contain {} of {} published values.\n",
      held.hold, held.figures, tallies.inside, tallies[Use::kPrediction].figures);
  return out + "Sources, and how to read the figures\n" + sources;
}

std::string published_text(const std::vector<model::PublishedRow>& rows) {
  return tolerance_text(rows, Use::kIdentity, "identities: arithmetic that must hold") +
         tolerance_text(rows, Use::kCalibrated, "calibrated: a preset was fitted to them") +
         tolerance_text(rows, Use::kDerived, "derived: sums of published figures") +
         predictions_text(rows) +
         tolerance_text(
             rows, Use::kCliff,
             fmt::format("cliffs: predicted within a factor of {:g}, except those marked !",
                         model::kCriterion.cliff));
}

/// Prints the verdict as one line, and returns the exit status.
int verdict(const std::vector<model::PublishedRow>& rows, const model::Judgement* j) {
  const auto all = tally(rows);
  const auto of = [](const model::Tally& t) { return fmt::format("{} of {}", t.hold, t.figures); };
  auto text = fmt::format(
      "identities: {} hold; predictions: {} agree; cliffs: {} agree; limits: {} kept; not evidence "
      "for the model: {} calibrated and {} derived figures agree",
      of(all[Use::kIdentity]), of(all[Use::kPrediction]), of(all[Use::kCliff]), of(all.limits),
      of(all[Use::kCalibrated]), of(all[Use::kDerived]));
  int status = 0;
  if (j != nullptr) {
    text += fmt::format("; mode (b) MAPE {:.1f} % p90 {:.1f} % max {:.1f} %", 100 * j->errors.mean,
                        100 * j->errors.p90, 100 * j->errors.max);
    if (j->noise_limited()) {
      status = kExitNoise;
      text +=
          fmt::format(": no verdict, because identical runs differ by {:.0f} %", 100 * j->spread);
    } else {
      status = j->holds() ? 0 : kExitFailure;
      text += j->holds() ? ": holds" : ": missed";
    }
  }
  fmt::print("\n{}\n", text);
  const auto& identities = all[Use::kIdentity];
  return identities.hold == identities.figures ? status : kExitFailure;
}

int run_validate(const ValidateOptions& options) {
  const auto rows = model::published_rows();
  if (!rows) throw Error(rows.error());
  if (options.published_only) {
    fmt::print("{}", published_text(*rows));
    return verdict(*rows, nullptr);
  }
  const auto measured = options.runs.empty()
                            ? run_all(options)
                            : Measured{machine_of(options), read_records(options.runs)};
  if (!options.out.empty()) write_records(options.out, measured.runs);
  const auto judgement = judge(measured.runs, measured.machine);
  if (!judgement) throw Error(judgement.error());
  fmt::print("{}{}{}{}", fitted_text(*judgement), points_text(*judgement), copies_text(*judgement),
             published_text(*rows));
  return verdict(*rows, &*judgement);
}

}  // namespace

cli::Command validate_command() {
  auto options = std::make_shared<ValidateOptions>();
  cli::Command command("validate",
                       "Compare the model with this machine and with published figures");
  add_host_options(command, options->host);
  command.file("--runs", "runs.json", options->runs,
               "Evaluate the runs in this file instead of measuring new runs");
  command.file("--out", "runs.json", options->out, "Write the runs to this file, as JSON");
  command.choice("--cpus", options->cpus, {"other", "same", "any"},
                 "Pin both processes to one processor (same), pin each to its own (other), or pin "
                 "neither (any)");
  command.number("--repeat", "N", options->repeat, {1, 100},
                 "Number of times to run all transfers");
  command.number("--seconds", "S", options->seconds, {0.01, 10},
                 "Approximate duration of each transfer");
  command.flag("--published-only", options->published_only, "Check only the published figures");
  command.notes =
      "The costs of sockets are fitted to the runs; the costs of iWARP are predicted.\n"
      "Exit status 0: every identity holds and every error is within its bound; 1: an identity\n"
      "does not hold or an error exceeds its bound; 2: identical runs differ too much for a\n"
      "verdict.";
  command.shown = {"iwarp cost validate",
                   "iwarp cost validate --out runs.json && iwarp cost validate --runs runs.json",
                   "iwarp cost validate --published-only"};
  command.statuses = {
      {"0", "every identity holds and every error is within its bound"},
      {"1", "an identity does not hold, an error exceeds its bound, or the command failed"},
      {"2", "identical runs differ too much for a verdict, or the command line is invalid"}};
  command.run = [options](const cli::Given&) { return run_validate(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
