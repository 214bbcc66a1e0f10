// SPDX-License-Identifier: Apache-2.0
// iwarp cost run: makes real transfers between two processes, and writes one record for each.
#include <fmt/format.h>

#include <cstdio>

#include "common/base/error.hpp"
#include "common/base/units.hpp"
#include "common/connection/options.hpp"
#include "cost/bench/measure.hpp"
#include "cost/commands/subcommands.hpp"

namespace iwarp::apps::cost {

namespace {

struct RunOptions {
  std::string mode = "both";
  std::vector<std::string> sizes{"64", "1K", "4K", "16K", "64K", "256K", "1M"};
  std::vector<std::string> fpdus{"emss"};
  std::vector<std::string> crcs{"off", "best"};
  bool markers = false;
  std::string cpus = "same";
  unsigned repeat = 1;
  double seconds = 0.2;
  std::string out;
};

constexpr std::uint64_t kLargestTransfer = 1ULL << 30;

std::uint64_t size_of(const std::string& text) {
  const auto size = cli::parse_size(text);
  if (!size || *size == 0 || *size > kLargestTransfer) {
    throw UsageError("--size: \"" + text + "\" is not a size from 1 to 1G");
  }
  return *size;
}

std::size_t fpdu_of(const std::string& text) {
  const auto& option = options::find("IWARP_FPDU");
  CommonOptions out;
  if (!options::set(option, spelled_out(option, text), out)) {
    throw UsageError("--fpdu: \"" + text + "\" " + options::refusal(option, text));
  }
  return out.connection.max_ulpdu;
}

std::vector<Job> jobs_of(const RunOptions& options) {
  std::vector<Job> out;
  for (const auto& text : options.sizes) {
    Job job{.size = size_of(text), .seconds = options.seconds, .cpus = options.cpus};
    if (options.mode != "iwarp") out.push_back(job);
    if (options.mode == "sockets") continue;
    job.mode = "iwarp";
    for (const auto& fpdu : options.fpdus) {
      job.fpdu = fpdu_of(fpdu);
      for (const auto& crc : options.crcs) {
        job.crc = crc;
        job.markers = false;
        out.push_back(job);
        job.markers = true;
        if (options.markers) out.push_back(job);
      }
    }
  }
  return out;
}

void print_record(const Record& r) {
  const auto messages = static_cast<double>(r.messages);
  const auto octets = messages * static_cast<double>(r.size);
  fmt::print("{:<8}{:>10}{:>8}  {:<15}{:<8}{:>10.3f}{:>10.3f}{:>10.3f}{:>9.2f}\n", r.mode,
             format_octets(static_cast<double>(r.size)), r.fpdu == 0 ? "-" : std::to_string(r.fpdu),
             r.crc, r.markers ? "on" : "off", r.tx.cpu_ns / messages / 1e3,
             r.rx.cpu_ns / messages / 1e3, r.cpu_ns() / octets, octets * 8 / r.seconds / 1e9);
}

int run_jobs(const RunOptions& options) {
  const auto jobs = jobs_of(options);
  std::vector<Record> records;
  fmt::print("{:<8}{:>10}{:>8}  {:<15}{:<8}{:>10}{:>10}{:>10}{:>9}\n", "mode", "size", "ULPDU",
             "CRC", "markers", "tx us", "rx us", "ns/octet", "Gb/s");
  for (unsigned round = 0; round < options.repeat; ++round) {
    for (const auto& job : jobs) {
      records.push_back(measure(job));
      print_record(records.back());
      std::fflush(stdout);
    }
  }
  if (!options.out.empty()) write_records(options.out, records);
  return 0;
}

}  // namespace

cli::Command run_command() {
  auto options = std::make_shared<RunOptions>();
  cli::Command command(
      "run", "Measure transfers between two local processes, over sockets and over iWARP");
  command.choice("--mode", options->mode, {"sockets", "iwarp", "both"}, "Transports to measure");
  command.texts("--size", "N", options->sizes, "Bytes per message").greedy();
  command
      .texts("--fpdu", "emss|max|N", options->fpdus,
             "iWARP: largest FPDU; see iwarp help connection")
      .greedy();
  command
      .texts("--crc", "off|best|KERNEL", options->crcs,
             "iWARP: off, best (the fastest CRC32c kernel), or a kernel that iwarp info lists")
      .greedy();
  command.flag("--markers", options->markers, "iWARP: also run with markers");
  command.choice("--cpus", options->cpus, {"other", "same", "any"},
                 "Pin both processes to one processor (same), pin each to its own (other), or pin "
                 "neither (any)");
  command.number("--repeat", "N", options->repeat, {1, 1000},
                 "Number of times to run all transfers");
  command.number("--seconds", "S", options->seconds, {0.01, 60},
                 "Approximate duration of each transfer");
  command.text("--out", "runs.json", options->out, "Write the results to this file, as JSON")
      .completes(cli::Completion::kFile);
  command.notes =
      "The transfers use loopback, so both ends share this machine and TCP segments are up "
      "to 64 KB long.";
  command.shown = {
      "iwarp cost run --out runs.json",
      "iwarp cost run --mode iwarp --size 64K --crc off portable best --markers --repeat 5"};
  command.run = [options](const cli::Given&) { return run_jobs(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
