// SPDX-License-Identifier: Apache-2.0
// The options of predict and report, and where their host comes from.
#include "cost/question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "common/error.hpp"
#include "common/options.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr const char* kDefaultPreset = "100g";
constexpr std::uint64_t kLargestSize = 1ULL << 32;
constexpr double kLargestRate = 10'000;  // Gb/s
constexpr double kLargestCores = 4096;
constexpr double kLargestCount = 1e12;  // reuses, advertisements

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError("cannot open " + path + ": " + errno_text());
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw UsageError("cannot read " + path);
  return text.str();
}

CLI::Option* number(CLI::App& command, const char* name, double& value, const char* help,
                    double low, double high, const char* type) {
  return command.add_option(name, value, help)
      ->check(without_name(CLI::Range(low, high)))
      ->type_name(type);
}

CLI::Option* octets(CLI::App& command, const char* name, std::uint64_t& value, const char* help,
                    std::uint64_t low, std::uint64_t high) {
  return command.add_option(name, value, help)
      ->transform(size_suffix())
      ->check(without_name(CLI::Range(low, high)))
      ->type_name("N");
}

}  // namespace

void add_host_options(CLI::App& command, QuestionOptions& options) {
  command
      .add_option("--preset", options.preset,
                  "A host of the past or present: 2003, 2007, 100g;\n"
                  "100g if neither this nor --host is given")
      ->type_name("NAME");
  command
      .add_option("--host", options.host,
                  "A measured host, from iwarp cost calibrate; what it\n"
                  "lacks is taken from the preset, and said")
      ->type_name("host.json");
}

void add_question_options(CLI::App& command, QuestionOptions& options) {
  add_host_options(command, options);
  octets(command, "--size", options.size, "Octets of one message, 1 to 4G", 1, kLargestSize)
      ->capture_default_str();
  number(command, "--rate", options.rate, "Gb/s of message octets; the link's if left out", 1e-3,
         kLargestRate, "GBPS");
  number(command, "--cores", options.cores, "Processors that may work on it, on either side", 1,
         kLargestCores, "N")
      ->capture_default_str();
  number(command, "--reuse", options.reuse, "Transfers per registration of a buffer", 1,
         kLargestCount, "U")
      ->capture_default_str();
  number(command, "--advertise", options.advertise, "Transfers per exchange of an STag", 1,
         kLargestCount, "V")
      ->capture_default_str();
  command.add_flag("--cached", options.cached, "Registrations are found in a cache");
  auto* events =
      command.add_flag("--events", options.events, "RNIC: sleep on completions, do not poll");
  command.add_flag("--polling", options.polling, "Sockets and TOE: receivers never sleep")
      ->excludes(events);
  command.add_option("--crc", options.crc, "CRC32c of software iWARP")
      ->check(without_name(CLI::IsMember({"on", "off"})))
      ->type_name("on|off")
      ->capture_default_str();
  command.add_flag("--markers", options.markers, "Markers in software iWARP");
  octets(command, "--fpdu", options.fpdu,
         "Payload of one frame; what fits a TCP segment if left out", 1, 1U << 16);
  number(command, "--application", options.application,
         "The program's own work, ns per octet (LAWS: gamma)", 0, 1e6, "NS");
}

model::ParameterSet load_host(const QuestionOptions& options) {
  const auto base = model::preset(options.preset.empty() ? kDefaultPreset : options.preset);
  if (!base) throw UsageError(base.error());
  if (options.host.empty()) return *base;
  const auto set = model::parse_parameters(read_text(options.host), &*base);
  if (!set) throw UsageError(options.host + ": " + set.error());
  if (!set->filled.empty()) {
    fmt::print(stderr, "note: {} lacks {}; marked \"preset\" and taken from {}\n", options.host,
               fmt::join(set->filled, ", "), base->name);
  }
  return *set;
}

Question question_of(const QuestionOptions& options) {
  Question out{.set = load_host(options), .workload = {}};
  auto& w = out.workload;
  w.size = static_cast<double>(options.size);
  w.reuse = options.reuse;
  w.advertise = options.advertise;
  w.hit_rate = options.cached ? 1 : 0;
  w.sleeps = options.polling ? 0 : 1;
  w.events = options.events;
  w.crc = options.crc == "on";
  w.markers = options.markers;
  w.fpdu = static_cast<double>(options.fpdu);
  out.rate = options.rate > 0 ? options.rate : out.set.at("link");
  out.cores = options.cores;
  out.application = options.application;
  out.file = static_cast<double>(options.file);
  return out;
}

std::string title_of(const model::ParameterSet& set) {
  return set.title.empty() ? set.name : set.title;
}

}  // namespace iwarp::apps::cost
