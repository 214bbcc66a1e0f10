// SPDX-License-Identifier: Apache-2.0
// iwarp cost fit: learns a card from measurements of it that others made, and predicts messages,
// connections and depths that were not measured. --against compares with rows that were held back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>

#include "common/base/error.hpp"
#include "common/base/units.hpp"
#include "cost/commands/subcommands.hpp"
#include "iwarp/offload_model/card_fit.hpp"
#include "iwarp/offload_model/performance.hpp"
#include "usage/host.hpp"

namespace iwarp::apps::cost {

namespace {

namespace model = offload_model;
using model::CardPrediction;
using model::CardSample;
using model::FittedWay;

constexpr double kMillion = 1e6;

struct FitOptions {
  std::string file;
  std::string against;
  std::string way;
  std::uint64_t size = 0;
  std::uint64_t connections = 0;
  std::uint64_t depth = 0;
  bool json = false;
};

model::CardSamples samples_of(const std::string& file) {
  auto samples = model::read_samples(usage::read_text(file));
  if (!samples) throw UsageError(file + ": " + samples.error());
  return std::move(*samples);
}

/// Returns the card of the default preset.
model::UsualCard usual_card() {
  constexpr double kOctetsPerUsAtOneGbps = 125;
  const auto host = usage::load_host("", "").resolve();
  const auto one_way =
      model::latency_ns(model::Mode::kRnic, host, {.size = 1, .hit_rate = 1}) / usage::kNsPerUs;
  return {.round_trip = 2 * one_way, .bandwidth = host.link * kOctetsPerUsAtOneGbps};
}

struct FitRow {
  std::string way;
  CardPrediction prediction;
};

bool is_operation(const std::string& way) {
  return way == "write" || way == "read" || way == "send" || way == "atomic";
}

/// Predicts an operation of a card from another operation of it. Reads and atomics have at most 16
/// requests in flight on a connection, as perftest asks for, whatever the depth.
FitRow other_operation(const FittedWay& measured, const std::string& way, model::CardLoad load) {
  constexpr double kOutstanding = 16;
  constexpr double kAtomicOctets = 8;
  constexpr double kUncertainty = 2;  // a guess, as large as that of guesses in the presets
  if (way == "read" || way == "atomic") load.depth = std::min(load.depth, kOutstanding);
  if (way == "atomic") load.size = kAtomicOctets;
  FitRow out{fmt::format("{} (from {})", way, measured.way()), measured.predict(load)};
  for (auto* band : {&out.prediction.rate, &out.prediction.cpu}) {
    band->low /= kUncertainty;
    band->high *= kUncertainty;
  }
  return out;
}

std::vector<FitRow> fit_rows(const std::vector<FittedWay>& ways, const std::string& asked,
                             const model::CardLoad& load) {
  std::vector<FitRow> out;
  for (const auto& way : ways) {
    if (asked.empty() || way.way() == asked) out.push_back({way.way(), way.predict(load)});
  }
  if (!out.empty()) return out;
  const auto known = std::ranges::find_if(ways, is_operation, &FittedWay::way);
  if (is_operation(asked) && known != ways.end()) return {other_operation(*known, asked, load)};
  throw UsageError(fmt::format("--way: unknown way \"{}\" (the file has {})", asked,
                               fmt::join(ways | std::views::transform(&FittedWay::way), ", ")));
}

double gbps(double rate, double size) { return rate * size * 8 / 1e9; }

std::string fit_line(const FitRow& row, double size) {
  const auto& p = row.prediction;
  const auto range = [](const model::Band& band, double unit, int digits) {
    return fmt::format("({:.{}f} to {:.{}f})", band.low / unit, digits, band.high / unit, digits);
  };
  auto out =
      fmt::format("{:<33}{:>8.3f} {:<18}{:>8.2f}{:>10.1f}", row.way, p.rate.median / kMillion,
                  range(p.rate, kMillion, 3), gbps(p.rate.median, size), p.latency);
  if (p.cpu.median > 0) {
    out += fmt::format("{:>10.2f} {:<18}{:>6.2f}", p.cpu.median, range(p.cpu, 1, 2),
                       p.cpu.median * p.rate.median / kMillion);
  }
  return out + fmt::format("  {}\n", p.limit);
}

bool is_sockets(const std::string& way) {
  return std::ranges::any_of(std::array{"kernel", "tcp", "TCP", "socket"},
                             [&](const char* word) { return way.find(word) != way.npos; });
}

/// Returns a sentence that compares the processor time of each way with that of sockets. A gain or
/// a loss is certain if the bands do not overlap.
std::string gain_text(const std::vector<FitRow>& rows) {
  const auto sockets = std::ranges::find_if(rows, is_sockets, &FitRow::way);
  if (sockets == rows.end() || sockets->prediction.cpu.median == 0) return "";
  const auto& base = sockets->prediction.cpu;
  std::vector<std::string> each;
  bool gain = false;
  for (const auto& row : rows) {
    const auto& cpu = row.prediction.cpu;
    if (&row == &*sockets || cpu.median == 0) continue;
    const bool sure = cpu.high < base.low || cpu.low > base.high;
    gain = gain || cpu.high < base.low;
    each.push_back(fmt::format(
        "{} {} {:.0f} %{}", row.way, cpu.median < base.median ? "saves" : "adds",
        100 * std::abs(cpu.median / base.median - 1), sure ? "" : " (within the uncertainty)"));
  }
  if (each.empty()) return "";
  return fmt::format("{}: compared with the processor time of {}, {}\n",
                     gain ? "There is a gain" : "No gain is certain", sockets->way,
                     fmt::join(each, ", "));
}

std::string learned_text(const model::CardSamples& samples, const std::vector<FittedWay>& ways) {
  std::string out;
  for (const auto& note : samples.notes) out += fmt::format("note: {}\n", note);
  for (const auto& way : ways) {
    for (const auto& s : way.ignored()) {
      out += fmt::format(
          "line {} was ignored: its rate of {:.0f} messages/s differs from the other rows of {} by "
          "more than a factor of 3\n",
          s.line, s.rate, s.way);
    }
  }
  out += "\nEach row predicted from the other rows: median error (90th percentile)\n";
  const auto add = [&out](const char* what, const model::ErrorSummary& errors) {
    out += fmt::format("   {} {:.0f} % ({:.0f} %)", what, 100 * errors.median, 100 * errors.p90);
  };
  for (const auto& way : ways) {
    out += fmt::format("  {:<34}rows: {}", way.way(), way.samples().size());
    if (way.samples().size() > 1) add("rate", way.rate_errors());
    if (way.polling_cores() > 0) {
      out += fmt::format("   polls on {:.1f} cores", way.polling_cores());
    } else if (way.cpu_errors().p90 > 0) {
      add("processor time", way.cpu_errors());
    }
    out += "\n";
  }
  return out;
}

nlohmann::ordered_json fit_json(const model::Band& band) {
  return {{"low", band.low}, {"value", band.median}, {"high", band.high}};
}

std::string fit_json(const std::vector<FitRow>& rows, const model::CardLoad& load) {
  nlohmann::ordered_json out{{"size", load.size},
                             {"connections", load.connections},
                             {"depth", load.depth},
                             {"ways", nlohmann::ordered_json::array()}};
  for (const auto& [way, p] : rows) {
    nlohmann::ordered_json row{{"way", way},
                               {"messages_per_s", fit_json(p.rate)},
                               {"gbps", gbps(p.rate.median, load.size)},
                               {"latency_us", p.latency},
                               {"limit", p.limit}};
    if (p.cpu.median > 0) {
      row["cpu_us"] = fit_json(p.cpu);
      row["cores"] = p.cpu.median * p.rate.median / kMillion;
    }
    out["ways"].push_back(std::move(row));
  }
  return out.dump(1) + "\n";
}

std::string summary_text(const char* what, const std::vector<double>& errors) {
  if (errors.empty()) return "";
  constexpr double kClose = 0.25;
  const auto all = model::summarise(errors);
  const auto close = std::ranges::count_if(errors, [](double e) { return e <= kClose; });
  return fmt::format(
      "{}: {} of {} predictions within 25 %; mean error {:.0f} %, 90th percentile {:.0f} %\n", what,
      close, errors.size(), 100 * all.mean, 100 * all.p90);
}

/// Predicts each row of another file and prints how far the prediction is from it.
std::string comparison_text(const std::vector<FittedWay>& ways, const model::CardSamples& held) {
  auto out =
      fmt::format("{:<34}{:>8}{:>7}{:>7}{:>12}{:>12}{:>7}{:>9}{:>9}{:>7}\n", "way", "size", "conns",
                  "depth", "messages/s", "predicted", "error", "cpu us", "predicted", "error");
  std::vector<double> rates;
  std::vector<double> costs;
  for (const auto& s : held.rows) {
    const auto way = std::ranges::find(ways, s.way, &FittedWay::way);
    if (way == ways.end()) continue;
    const auto p = way->predict({s.size, s.connections, s.depth});
    const auto rate_error = p.rate.median / s.rate - 1;
    rates.push_back(std::abs(rate_error));
    out += fmt::format("{:<34}{:>8}{:>7}{:>7}{:>12.0f}{:>12.0f}{:>+5.0f} %", s.way, s.size,
                       s.connections, s.depth, s.rate, p.rate.median, 100 * rate_error);
    if (s.cpu > 0 && p.cpu.median > 0) {
      const auto cpu_error = p.cpu.median / s.cpu - 1;
      costs.push_back(std::abs(cpu_error));
      out += fmt::format("{:>9.2f}{:>9.2f}{:>+5.0f} %", s.cpu, p.cpu.median, 100 * cpu_error);
    }
    out += s.errors > 0 ? "  errors counted\n" : "\n";
  }
  if (rates.empty()) throw UsageError("--against: none of its rows has a way that FILE also has");
  return out + "\n" + summary_text("rate", rates) + summary_text("processor time", costs);
}

std::string prediction_text(const std::vector<FitRow>& rows, const model::CardLoad& load) {
  const bool paid =
      std::ranges::any_of(rows, [](const FitRow& row) { return row.prediction.cpu.median > 0; });
  auto out = fmt::format(
      "{}; connections: {}; messages in flight on each: {}\n\n{:<33}{:<27}{:>8}{:>10}{}\n",
      format_octets(load.size), load.connections, load.depth, "", "million/s (90 % band)", "Gb/s",
      "latency us", paid ? "    processor us (90 % band)   cores" : "");
  for (const auto& row : rows) out += fit_line(row, load.size);
  return out + "\n" + gain_text(rows);
}

int run_fit(const FitOptions& options) {
  const auto samples = samples_of(options.file);
  const auto ways = model::fit_ways(samples, usual_card());
  if (!options.against.empty()) {
    fmt::print("{}", comparison_text(ways, samples_of(options.against)));
    return 0;
  }
  const auto& first = samples.rows.front();
  const auto or_first = [](std::uint64_t given, double otherwise) {
    return given > 0 ? static_cast<double>(given) : otherwise;
  };
  const model::CardLoad load{or_first(options.size, first.size),
                             or_first(options.connections, first.connections),
                             or_first(options.depth, first.depth)};
  const auto rows = fit_rows(ways, options.way, load);
  fmt::print("{}", options.json ? fit_json(rows, load)
                                : prediction_text(rows, load) + learned_text(samples, ways));
  return 0;
}

}  // namespace

cli::Command fit_command() {
  auto options = std::make_shared<FitOptions>();
  cli::Command command(
      "fit", "Fit a model to measurements of a card, and predict messages that were not measured");
  command
      .argument("FILE", options->file,
                "Output of perftest or fio, as text or JSON, or a table with a header")
      .completes(cli::Completion::kFile);
  constexpr double kMostMessages = 1e6;
  command.size("--size", options->size, {1, 1ULL << 32}, "Bytes per message");
  command.number("--connections", "N", options->connections, {1, kMostMessages},
                 "Number of connections (queue pairs)");
  command.number("--depth", "N", options->depth, {1, kMostMessages},
                 "Messages in flight on each connection");
  command.text("--way", "WAY", options->way,
               "Predict only this way: one that FILE contains, or write, read, send or atomic, "
               "which is then predicted from another operation in FILE");
  command.file("--against", "FILE", options->against,
               "Predict each row of this file, and print the error of each prediction");
  command.flag("--json", options->json, "Print the predictions as JSON");
  command.notes =
      "The defaults of --size, --connections and --depth are the values in the first row of FILE.\n"
      "A table begins with a line that names its columns: payload_bytes, and requests_per_s, gbps\n"
      "or cpu_us_per_request. It may also have connections, in_flight, way and cores. Columns are\n"
      "separated by tabs, commas or blanks.";
  command.shown = {"iwarp cost fit ib_write_bw.txt --size 2K --depth 16",
                   "iwarp cost fit card.tsv --connections 4000 --json",
                   "iwarp cost fit half.tsv --against other-half.tsv"};
  command.run = [options](const cli::Given&) { return run_fit(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
