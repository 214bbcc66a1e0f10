// SPDX-License-Identifier: Apache-2.0
// Declares the options of `iwarp cost predict` and `report`, loads the host that they select, and
// applies --what-if.
#include "cost/text/question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <regex>
#include <sstream>

#include "common/base/error.hpp"
#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kLargestSize = 1ULL << 32;
constexpr std::uint64_t kMostRegistered = 1ULL << 44;
constexpr double kLargestRate = 10'000;  // maximum rate in Gb/s
constexpr double kLargestCores = 4096;
// Maximum number of transfers per registration, and of transfers per advertisement.
constexpr double kLargestCount = 1e12;

/// Adds a flag. As a key of --what-if, the flag has the value "on" or "off".
cli::Option& flag(cli::Command& command, const char* name, bool& value, const char* help) {
  auto& option = command.flag(name, value, help);
  option.take = [&value](const cli::Option::Words& words) -> std::string {
    value = words.empty() || words.back() == "on";
    return value || words.back() == "off" ? "" : "\"" + words.back() + "\" is not one of on, off";
  };
  return option;
}

/// Parses "gen4x8" as the generation of PCI Express and the number of lanes.
std::optional<std::array<double, 2>> parse_pcie(const std::string& word) {
  static const std::regex kForm("gen([1-7])x([1-9]|[12][0-9]|3[0-2])");
  std::smatch parts;
  if (!std::regex_match(word, parts, kForm)) return std::nullopt;
  return {{std::stod(parts[1]), std::stod(parts[2])}};
}

model::Verb verb_of(const std::string& word) {
  using enum model::Verb;
  return word == "write" ? kWrite : word == "read" ? kRead : word == "atomic" ? kAtomic : kSend;
}

/// The words of options whose values need a conversion.
struct Words {
  std::uint64_t size = 65536, registered = 0, fpdu = 0;
  bool cached = false;
  std::string verb = "send", wait = "usual", crc = "on", pcie;
};

/// Declares the options of a question: one row for each. All of them are keys of --what-if.
void add_workload_options(cli::Command& command, Question& q) {
  auto& w = q.workload;
  const auto words = std::make_shared<Words>();
  command.size("--size", words->size, {1, kLargestSize}, "Bytes per message, 1 to 4G")
      .then([&w, words] { w.size = static_cast<double>(words->size); });
  command.number("--rate", "GBPS", q.rate, {1e-3, kLargestRate},
                 "Payload rate in Gb/s; the default is the rate of the link");
  command.number("--cores", "N", q.cores, {1, kLargestCores},
                 "Number of processors that each end may use");
  command.number(
      "--load", "SHARE", q.load, {0, 0.999},
      "Rate at which the p99 latency is predicted, as a share of the rate that kernel sockets "
      "reach");
  command.number(
      "--depth", "N", w.depth, {1, kLargestCount},
      "Messages in flight per connection; the default is enough to keep the slowest resource "
      "busy");
  command.number("--qps", "N", w.qps, {1, kLargestCount},
                 "Number of connections; on an RNIC, each has a queue pair");
  command.number("--burst", "N", w.burst, {1, kLargestCount},
                 "RNIC: consecutive messages on one queue pair before another queue pair is used");
  command.number("--regions", "N", w.regions, {1, kLargestCount},
                 "RNIC: number of memory regions; each message uses one of them at random");
  command
      .size("--registered", words->registered, {0, kMostRegistered},
            "RNIC: bytes of registered memory; each message uses a random part")
      .then([&w, words] { w.memory = static_cast<double>(words->registered); });
  command
      .choice("--verb", words->verb, {"send", "write", "read", "atomic"},
              "RNIC: operation; an atomic moves 8 bytes, whatever --size says")
      .then([&w, words] { w.verb = verb_of(words->verb); });
  command.number("--reuse", "U", w.reuse, {1, kLargestCount}, "Transfers per buffer registration");
  command.number("--advertise", "V", w.advertise, {1, kLargestCount},
                 "Transfers per STag exchange");
  flag(command, "--cached", words->cached,
       "Assume that every registration hits a registration cache")
      .then([&w, words] { w.hit_rate = words->cached ? 1 : 0; });
  flag(command, "--on-demand", w.on_demand,
       "RNIC: do not pin memory; the first of --reuse transfers waits for a page fault");
  command
      .choice("--wait", words->wait, {"usual", "poll", "interrupt"},
              "How receivers wait: usual means that sockets and a TOE sleep while an RNIC polls")
      .then([&w, words] {
        w.sleeps = words->wait == "poll" ? 0 : 1;
        w.events = words->wait == "interrupt";
      });
  command.number("--moderation", "N", w.moderation, {1, kLargestCount},
                 "RNIC with --wait interrupt: completions per interrupt");
  command.number("--signalled", "SHARE", w.signalled, {0, 1},
                 "RNIC: share of the requests that are signaled, that is, generate a completion");
  flag(command, "--inline", w.inlined, "RNIC: copy the payload into the work request");
  command.text("--pcie", "genNxM", words->pcie, "PCI Express generation and lanes of the card")
      .check([](const std::string& word) {
        return parse_pcie(word)
                   ? ""
                   : fmt::format("\"{}\" is not in the range from gen1x1 to gen7x32", word);
      })
      .then([&q, words] {
        const auto [generation, lanes] = *parse_pcie(words->pcie);
        q.set.values["pcie_generation"].value = generation;
        q.set.values["pcie_lanes"].value = lanes;
      });
  command.choice("--crc", words->crc, {"on", "off"}, "CRC32c in software iWARP").then([&w, words] {
    w.crc = words->crc == "on";
  });
  flag(command, "--markers", w.markers, "Use markers in software iWARP");
  command
      .size("--fpdu", words->fpdu, {1, 1U << 16},
            "Payload bytes per FPDU; by default, an FPDU fills one TCP segment")
      .then([&w, words] { w.fpdu = static_cast<double>(words->fpdu); });
  command.number("--application", "NS", q.application, {0, 1e6},
                 "The application's own work in ns per byte");
}

/// Sets a parameter of the model. Returns an error text, or an empty string if the value is valid.
std::string set_parameter(model::ParameterSet& set, const model::Field& field,
                          std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr double kLargest = 1e12;
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  if (!whole || !(field.may_be_zero ? value >= 0 : value > 0) || value > kLargest) {
    const std::string unit = field.unit == "1" ? "" : fmt::format(", in {}", field.unit);
    return fmt::format("\"{}\" is not a number {} to 1e12 ({}{})", cli::excerpt(word),
                       field.may_be_zero ? "from 0" : "above 0 and up", field.meaning, unit);
  }
  set.values[std::string(field.key)] = {value, 0, "def", "--what-if"};
  return "";
}

/// Applies one KEY=VALUE of --what-if to the options of the workload or to the parameters. Returns
/// an error text, or an empty string.
std::string apply(const cli::Command& workload, model::ParameterSet& set, const std::string& key,
                  const std::string& value) {
  const auto option = std::ranges::find(workload.options, "--" + key, &cli::Option::long_name);
  if (option != workload.options.end()) return option->take({value});
  if (const auto* field = model::find_field(key)) return set_parameter(set, *field, value);
  std::vector<std::string> known;
  known.reserve(workload.options.size() + model::fields().size());
  for (const auto& each : workload.options) known.push_back(each.long_name().substr(2));
  for (const auto& field : model::fields()) {
    if (std::ranges::find(known, field.key) == known.end()) known.emplace_back(field.key);
  }
  return fmt::format("unknown key (known keys: {})", fmt::join(known, ", "));
}

/// Makes the changes of --what-if.
void change(Question& q, const std::string& what_if) {
  cli::Command workload("", "");
  add_workload_options(workload, q);
  std::istringstream text(what_if);
  for (std::string word; std::getline(text, word, ',');) {
    const auto equals = std::min(word.find('='), word.size());
    const auto key = word.substr(0, equals);
    const auto fault = equals == word.size() ? "not of the form KEY=VALUE"
                                             : apply(workload, q.set, key, word.substr(equals + 1));
    if (!fault.empty())
      throw UsageError(fmt::format("--what-if: \"{}\": {}", cli::excerpt(key), fault));
  }
}

/// Returns the question of the options for this host, after the changes.
Question asked(const model::ParameterSet& host, const QuestionOptions& options,
               const std::string& what_if) {
  const auto with = [&](const model::Workload& workload) {
    constexpr double kAtomicSize = 8;
    auto out = options.question;
    out.set = host;
    for (const auto& [key, given] : options.question.set.values) {
      out.set.values[key].value = given.value;
    }
    out.workload = workload;
    change(out, what_if);
    if (out.workload.verb == model::Verb::kAtomic) out.workload.size = kAtomicSize;
    if (out.rate == 0) out.rate = out.set.at("link");
    return out;
  };
  auto out = with(options.question.workload);
  if (out.messages.empty()) {
    out.messages = {{out.workload, 1}};
    return out;
  }
  out.workload.size = 0;
  for (auto& [workload, share] : out.messages) {
    workload = with(workload).workload;
    out.workload.size += share * workload.size;
  }
  return out;
}

}  // namespace

void add_host_options(cli::Command& command, HostOptions& options) {
  command.begin_group("Host");
  command
      .text("--preset", "NAME", options.preset,
            fmt::format("Built-in host: {}; the default is 100g",
                        fmt::join(model::preset_names(), ", ")))
      .suggests(model::preset_names());
  command.file("--host", "host.json", options.host,
               "File that iwarp cost calibrate wrote; parameters missing from the file are taken "
               "from --preset and listed");
  command.begin_group("");
}

void add_question_options(cli::Command& command, QuestionOptions& options) {
  add_host_options(command, options.host);
  command.begin_group("Workload");
  add_workload_options(command, options.question);
  add_change_option(command, options.what_if);
  command.begin_group("");
  command.choice("--ways", options.ways, {"usual", "all"},
                 "Which ways to move a message the tables and charts show; all adds kernel TLS, "
                 "MSG_ZEROCOPY and the zero-copy receive of io_uring");
}

void add_change_option(cli::Command& command, std::string& what_if) {
  command.text(
      "--what-if", "KEY=VALUE,...", what_if,
      "Also predict the effect of changes. A KEY is a workload option of iwarp cost predict "
      "without \"--\", or a parameter of the model: depth=1,wait=interrupt,link=200. The "
      "values of a flag are on and off");
}

Question question_of(const QuestionOptions& options) {
  return asked(usage::load_host(options.host.preset, options.host.host), options, "");
}

Question changed_question(const Question& base, const QuestionOptions& options) {
  return asked(base.set, options, options.what_if);
}

}  // namespace iwarp::apps::cost
