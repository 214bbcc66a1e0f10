// SPDX-License-Identifier: Apache-2.0
// iwarp cost run: real transfers between two processes, one record each.
#include <fmt/format.h>

#include <cstdio>

#include "common/error.hpp"
#include "common/options.hpp"
#include "common/units.hpp"
#include "cost/measure.hpp"
#include "cost/subcommands.hpp"

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

constexpr std::uint64_t kLargest = 1ULL << 30;

std::uint64_t size_of(const std::string& text) {
  const auto size = parse_size(text);
  if (!size || *size == 0 || *size > kLargest) {
    throw UsageError("--size: not a number from 1 to 1G: " + text);
  }
  return *size;
}

std::vector<Job> jobs_of(const RunOptions& options) {
  std::vector<Job> out;
  for (const auto& text : options.sizes) {
    Job job{.size = size_of(text), .seconds = options.seconds, .cpus = options.cpus};
    if (options.mode != "iwarp") out.push_back(job);
    if (options.mode == "sockets") continue;
    job.mode = "iwarp";
    for (const auto& fpdu : options.fpdus) {
      const auto octets = parse_fpdu(fpdu);
      if (!octets) throw UsageError("--fpdu: not emss, max or a number from 128 to 64768: " + fpdu);
      job.fpdu = *octets;
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

void add_measure(CLI::App& app, Run& run) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand(
      "run", "Move octets between two processes here, by sockets and by iWARP, and count");
  command->footer(
      "Over loopback, so both ends share this machine and TCP's segments are 64 KB.\n"
      "Examples:\n"
      "  iwarp cost run --out runs.json\n"
      "  iwarp cost run --mode iwarp --size 64K --crc off portable best --markers --repeat 5");
  command->add_option("--mode", options->mode, "What to run")
      ->check(without_name(CLI::IsMember({"sockets", "iwarp", "both"})))
      ->type_name("sockets|iwarp|both")
      ->capture_default_str();
  command->add_option("--size", options->sizes, "Octets of one message, several")
      ->type_name("N...")
      ->capture_default_str();
  command->add_option("--fpdu", options->fpdus, "iWARP: largest frame, several; as in iwarp get")
      ->type_name("emss|max|N...")
      ->capture_default_str();
  command
      ->add_option("--crc", options->crcs,
                   "iWARP: off, best, or a CRC32c kernel that iwarp info\n"
                   "names, several")
      ->type_name("off|best|KERNEL...")
      ->capture_default_str();
  command->add_flag("--markers", options->markers, "iWARP: with markers, too");
  command->add_option("--cpus", options->cpus, "Where the processes run")
      ->check(without_name(CLI::IsMember({"other", "same", "any"})))
      ->type_name("other|same|any")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Rounds over all of this")
      ->check(without_name(CLI::Range(1U, 1000U)))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "About so long for each run")
      ->check(without_name(CLI::Range(0.01, 60.0)))
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--out", options->out, "Write the records there")->type_name("runs.json");
  command->callback([&run, options] { run = [options] { return run_jobs(*options); }; });
}

}  // namespace iwarp::apps::cost
