// SPDX-License-Identifier: Apache-2.0
// Declares the options of `iwarp cost predict` and `report`, and loads the host that they select.
#include "cost/text/question.hpp"

#include "common/base/error.hpp"
#include "common/connection/options.hpp"
#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kLargestSize = 1ULL << 32;
constexpr double kLargestRate = 10'000;  // maximum rate in Gb/s
constexpr double kLargestCores = 4096;
// Maximum number of transfers per registration, and of transfers per advertisement.
constexpr double kLargestCount = 1e12;

}  // namespace

void add_host_options(cli::Command& command, QuestionOptions& options) {
  command.begin_group("Host");
  command
      .text("--preset", "NAME", options.preset,
            "Built-in host: 2003, 2007 or 100g; the default is 100g")
      .suggests(model::preset_names());
  command
      .text("--host", "host.json", options.host,
            "File that iwarp cost calibrate wrote; parameters missing from the file are taken "
            "from --preset and listed")
      .completes(cli::Completion::kFile);
  command.begin_group("");
}

void add_question_options(cli::Command& command, QuestionOptions& options) {
  add_host_options(command, options);
  command.begin_group("Workload");
  command.size("--size", options.size, {1, kLargestSize}, "Bytes per message, 1 to 4G");
  command.number("--rate", "GBPS", options.rate, {1e-3, kLargestRate},
                 "Payload rate in Gb/s; the default is the rate of the link");
  command.number("--cores", "N", options.cores, {1, kLargestCores},
                 "Number of processors that each end may use");
  command.number("--reuse", "U", options.reuse, {1, kLargestCount},
                 "Transfers per buffer registration");
  command.number("--advertise", "V", options.advertise, {1, kLargestCount},
                 "Transfers per STag exchange");
  command.flag("--cached", options.cached, "Assume that each registration is found in a cache");
  command.flag("--events", options.events,
               "RNIC: sleep until a completion arrives instead of polling");
  command.flag("--polling", options.polling, "Sockets and TOE: assume that receivers never sleep")
      .excludes("--events");
  command.choice("--crc", options.crc, {"on", "off"}, "CRC32c in software iWARP");
  command.flag("--markers", options.markers, "Use markers in software iWARP");
  command.size("--fpdu", options.fpdu, {1, 1U << 16},
               "Payload bytes per FPDU; by default, an FPDU fills one TCP segment");
  command.number("--application", "NS", options.application, {0, 1e6},
                 "The application's own work in ns per byte (gamma in the LAWS model)");
  command.begin_group("");
}

Question question_of(const QuestionOptions& options) {
  Question out{.set = usage::load_host(options.preset, options.host), .workload = {}};
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

}  // namespace iwarp::apps::cost
