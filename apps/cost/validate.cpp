// SPDX-License-Identifier: Apache-2.0
// iwarp cost validate: does the model hold on this machine, and what of the published figures does
// it give? Exit status 0: identities exact and bounds met; 2: too noisy to say; 1: missed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>

#include "common/error.hpp"
#include "common/options.hpp"
#include "common/units.hpp"
#include "cost/bench.hpp"
#include "cost/judge.hpp"
#include "cost/subcommands.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr int kExitNoise = 2;
constexpr double kUs = 1e3;

struct ValidateOptions {
  QuestionOptions host;
  std::string runs;
  std::string out;
  std::string cpus = "same";
  unsigned repeat = 5;
  double seconds = 0.15;
  bool published_only = false;
};

/// Every size, frame, CRC and marker setting that is compared.
std::vector<Job> all_jobs(const ValidateOptions& options) {
  auto out = sweep(options.seconds, options.cpus);
  Job job{.seconds = options.seconds, .cpus = options.cpus};
  job.mode = "iwarp";
  constexpr std::uint64_t kHeader = 14;
  const auto add = [&](std::uint64_t size, std::uint64_t payload, const char* crc, bool markers) {
    job.size = size;
    job.fpdu = payload + kHeader;
    job.crc = crc;
    job.markers = markers;
    out.push_back(job);
  };
  for (const std::uint64_t size : {64U, 1024U, 16384U, 65536U, 1048576U}) {
    for (const std::uint64_t payload : {1428U, 8192U, 32768U}) {
      if (payload > 1428 && payload / 2 >= size) continue;  // one frame either way
      for (const char* crc : {"off", "portable", "best"}) add(size, payload, crc, false);
      if (size == 65536) add(size, payload, "best", true);
    }
  }
  return out;
}

/// The host's own file, or what the micro-benchmarks say now.
Machine machine_of(const ValidateOptions& options) {
  Machine out{.host = load_host(options.host).resolve(), .crc = {}};
  for (const auto& kernel : crc32c::kernels()) {
    if (kernel.supported()) out.crc[kernel.name] = bench_crc(kernel).value;
  }
  if (!options.host.host.empty()) return out;
  auto& p = out.host;
  p.copy_llc = bench_copy(cache_sizes().third / 2).value;
  p.syscall_tx = p.syscall_rx = 2 * bench_syscall().value;
  p.copy_tx = p.copy_rx = p.copy_llc;
  p.wakeup = bench_wakeup(false).value;
  p.iovec = bench_iovec().value;
  const auto framing = bench_framing();
  p.fpdu = framing.fpdu.value;
  p.marker = framing.marker.value;
  p.post = p.completion = request_cost(bench_request(), framing) / 2;
  return out;
}

/// Parameter by parameter: what one moment's disturbance did to one of them goes away.
Machine median_of(const std::vector<Machine>& machines) {
  auto out = machines.front();
  const auto middle = [&machines](const std::function<double(const Machine&)>& value) {
    std::vector<double> values;
    std::ranges::transform(machines, std::back_inserter(values), value);
    return median(std::move(values));
  };
  for (const auto& field : model::fields()) {
    out.host.*field.member = middle([&](const Machine& m) { return m.host.*field.member; });
  }
  for (auto& [kernel, cost] : out.crc) {
    cost = middle([&kernel](const Machine& m) { return m.crc.at(kernel); });
  }
  return out;
}

struct Measured {
  Machine machine;
  std::vector<Record> runs;
};

Measured run_all(const ValidateOptions& options) {
  const auto jobs = all_jobs(options);
  const auto total = jobs.size() * options.repeat;
  const bool shown = isatty(STDERR_FILENO) == 1;
  std::vector<Machine> machines;
  std::vector<Record> runs;
  for (unsigned round = 0; round < options.repeat; ++round) {
    machines.push_back(machine_of(options));
    for (const auto& job : jobs) {
      if (shown) fmt::print(stderr, "\rrun {} of {}\x1b[K", runs.size() + 1, total);
      runs.push_back(measure(job));
    }
  }
  if (shown) std::fputs("\r\x1b[K", stderr);
  return {median_of(machines), std::move(runs)};
}

void print_points(const Judgement& j) {
  fmt::print("Mode (b), predicted from the fit of (a), micro-benchmarks and counters\n");
  fmt::print("{:>10}{:>8}  {:<15}{:<8}{:>11}{:>11}{:>8}{:>9}\n", "size", "ULPDU", "CRC", "markers",
             "measured", "predicted", "error", "spread");
  for (const auto& point : j.points) {
    const auto& r = point.run;
    const auto messages = static_cast<double>(r.messages);
    fmt::print("{:>10}{:>8}  {:<15}{:<8}{:>8.2f} us{:>8.2f} us{:>6.0f} %{:>7.0f} %\n",
               format_octets(static_cast<double>(r.size)), r.fpdu, r.crc, r.markers ? "on" : "off",
               r.cpu_ns() / messages / kUs, point.predicted.total() / messages / kUs,
               100 * point.error(), 100 * point.spread);
  }
}

void print_components(const Judgement& j) {
  fmt::print("\nComponents\n");
  for (const auto& c : j.crc) {
    const auto off = c.in_place / c.bench - 1;
    // What costs less than the noise of the runs cannot be told from nothing.
    fmt::print("  CRC32c {}: {:.3f} ns/octet in the stack, {:.3f} alone, {:+.0f} % ({} pairs)\n",
               c.kernel, c.in_place, c.bench, 100 * off, c.pairs);
  }
  fmt::print("  copying, of a socket's processor time on this machine:");
  double most = 0;
  for (const auto& c : j.copies) {
    if (c.size != 64 && c.size != 4096 && c.size != 65536 && c.size != 1048576) continue;
    fmt::print("\n    {:>8}: {:.1f} to {:.1f} %", format_octets(c.size), 100 * c.low, 100 * c.high);
    most = std::max(most, c.high);
  }
  fmt::print("\n    (memcpy of as many octets in cache, to all that grows with the octets)");
  constexpr double kClaim = 0.8;
  fmt::print("\n  \"copying takes 80 to 85 % of the processor\": {}\n",
             most >= kClaim ? "it may, for one of these sizes on this machine"
                            : "not at any of these sizes on this machine");
}

bool print_live(const Judgement& j) {
  const auto cost = [&j](Unknown u) { return j.sockets[static_cast<std::size_t>(u)]; };
  fmt::print(
      "Mode (a), fitted: send {:.2f} us, receive or wait {:.2f} us, piece {:.2f} us, octet {:.3f} "
      "ns, wake-up {:.1f} us\n",
      cost(Unknown::kSend) / kUs, cost(Unknown::kReceive) / kUs, cost(Unknown::kPiece) / kUs,
      cost(Unknown::kOctet), cost(Unknown::kSwitch) / kUs);
  for (const auto& point : j.fitted) {
    fmt::print("  {:>10}, read by {:>6}: {:>8.2f} us, fitted {:>8.2f} us, {:+.0f} %\n",
               format_octets(static_cast<double>(point.run.size)), point.run.read,
               point.run.cpu_ns() / static_cast<double>(point.run.messages) / kUs,
               point.fitted / static_cast<double>(point.run.messages) / kUs,
               100 * (point.fitted / point.run.cpu_ns() - 1));
  }
  fmt::print("  each size left out: MAPE {:.1f} %, p90 {:.1f} %, max {:.1f} %\n\n",
             100 * j.left_out.mean, 100 * j.left_out.p90, 100 * j.left_out.max);
  print_points(j);
  fmt::print(
      "  MAPE {:.1f} % (at most {:.0f}), p90 {:.1f} % ({:.0f}), max {:.1f} % ({:.0f}); identical "
      "runs spread {:.1f} % ({:.0f})\n",
      100 * j.errors.mean, 100 * j.bounds.mean, 100 * j.errors.p90, 100 * j.bounds.p90,
      100 * j.errors.max, 100 * j.bounds.max, 100 * j.spread, 100 * j.bounds.spread);
  print_components(j);
  return j.holds();
}

std::string checks_text(const model::PublishedRow& row) {
  std::string out;
  for (const auto& c : row.checks) {
    out += fmt::format("\n      {} {}: {:.3g} {} ({:g} to {:g})", c.holds() ? " " : "!", c.what,
                       c.model, c.unit, c.low, c.high);
  }
  return out;
}

/// How many identities are exact, and rows hold, of how many.
struct RowCount {
  int identities = 0, exact = 0, others = 0, held = 0;
};

RowCount print_published() {
  const auto rows = model::published_rows();
  if (!rows) throw Error(rows.error());
  RowCount count;
  for (const auto use :
       {model::Use::kIdentity, model::Use::kCalibration, model::Use::kPrediction}) {
    fmt::print("\nPublished figures: {}\n", to_string(use));
    for (const auto& row : *rows) {
      if (row.use != use) continue;
      (use == model::Use::kIdentity ? count.identities : count.others) += 1;
      if (row.holds()) (use == model::Use::kIdentity ? count.exact : count.held) += 1;
      fmt::print("  {:>2}  {} [{}] ({}){}\n", row.number, row.figure, row.mark, row.source,
                 checks_text(row));
      if (!row.holds()) fmt::print("      not reproduced: {}\n", row.reason);
    }
  }
  return count;
}

int verdict(const RowCount& rows, const Judgement* j) {
  auto text = fmt::format("identities {} of {}, published {} of {} reproduced", rows.exact,
                          rows.identities, rows.held, rows.others);
  int status = rows.exact == rows.identities ? 0 : kExitFailure;
  if (j != nullptr) {
    text += fmt::format(", mode (b) MAPE {:.1f} % p90 {:.1f} % max {:.1f} %", 100 * j->errors.mean,
                        100 * j->errors.p90, 100 * j->errors.max);
    if (status == 0 && j->noise_limited()) {
      status = kExitNoise;
    } else if (status == 0 && !j->holds()) {
      status = kExitFailure;
    }
    text += j->noise_limited()
                ? fmt::format(": noise-limited (identical runs spread {:.0f} %)", 100 * j->spread)
            : j->holds() ? ": holds"
                         : ": missed";
  }
  fmt::print("\n{}\n", text);
  return status;
}

int run_validate(const ValidateOptions& options) {
  if (options.published_only) return verdict(print_published(), nullptr);
  const auto measured = options.runs.empty()
                            ? run_all(options)
                            : Measured{machine_of(options), read_records(options.runs)};
  if (!options.out.empty()) write_records(options.out, measured.runs);
  const auto judgement = judge(measured.runs, measured.machine);
  print_live(judgement);
  return verdict(print_published(), &judgement);
}

}  // namespace

void add_validate(CLI::App& app, Run& run) {
  auto options = std::make_shared<ValidateOptions>();
  auto* command = app.add_subcommand(
      "validate", "Does the model hold here, and for what others have published?");
  command->footer(
      "Sockets are fitted; iWARP is predicted. Exit status 0: identities exact and bounds met;\n"
      "1: not; 2: identical runs differ too much to say.\n"
      "Examples:\n"
      "  iwarp cost validate\n"
      "  iwarp cost validate --out runs.json && iwarp cost validate --runs runs.json\n"
      "  iwarp cost validate --published-only");
  add_host_options(*command, options->host);
  command->add_option("--runs", options->runs, "Judge these runs instead of running anything")
      ->type_name("runs.json");
  command->add_option("--out", options->out, "Keep the runs")->type_name("runs.json");
  command->add_option("--cpus", options->cpus, "Where the processes run")
      ->check(without_name(CLI::IsMember({"other", "same", "any"})))
      ->type_name("other|same|any")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Rounds over everything")
      ->check(without_name(CLI::Range(1U, 100U)))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "About so long for each run")
      ->check(without_name(CLI::Range(0.01, 10.0)))
      ->type_name("S")
      ->capture_default_str();
  command->add_flag("--published-only", options->published_only, "Only the published figures");
  command->callback([&run, options] { run = [options] { return run_validate(*options); }; });
}

}  // namespace iwarp::apps::cost
