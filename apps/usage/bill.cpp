// SPDX-License-Identifier: Apache-2.0
// Writes the processor time of a real transfer, by component, as text.
#include "usage/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/base/units.hpp"

namespace iwarp::apps::usage {

namespace {

using model::Mode;

std::string time_text(double ns) {
  return format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

std::string components(const model::Ledger& ledger) {
  std::string out;
  for (const auto component : model::kComponents) {
    const auto ns = ledger[component];
    if (ns == 0) continue;
    out += fmt::format("  {:<16}{:>12}{:>6.0f} %\n", to_string(component), time_text(ns),
                       100 * ns / ledger.total());
  }
  return out;
}

/// Describes the transfer, for example "100 B in one message" or "2.5 MiB in messages of at most
/// 1.0 MiB".
std::string transfer_text(double octets, double message) {
  const auto size = format_octets(octets);
  if (octets <= message) return size + " in one message";
  const bool whole = std::fmod(octets, message) == 0;
  return fmt::format("{} in messages of {}{}", size, whole ? "" : "at most ",
                     format_octets(message));
}

}  // namespace

void add_cost_option(cli::Command& command, std::optional<std::string>& host) {
  command.optional_text(
      "--cost", "HOST", host,
      "Print the processor time of this end, and the time that the cost model predicts for a TOE "
      "or an RNIC. HOST is a preset or a file from iwarp cost calibrate; the default is the newest "
      "preset");
}

model::ParameterSet cost_host(const std::string& host) {
  if (host.empty()) return load_host("", "");
  const auto names = model::preset_names();
  const bool is_preset = std::ranges::find(names, host) != names.end();
  return is_preset ? load_host(host, "") : load_host("", host);
}

std::string bill(const model::ParameterSet& host, model::Observed run, double octets,
                 double message, bool sender) {
  const auto p = host.resolve();
  const auto& c = run.counters;
  run.segments_received =
      model::segments_of(static_cast<double>(c.octets_received),
                         static_cast<double>(c.receive_calls), std::min(p.gro, p.mss));
  const auto ledger = account(p, run);
  auto out = fmt::format("Processor time of this end, computed with the parameters of {}\n",
                         title_of(host));
  out += components(ledger);
  out += fmt::format("  {:<16}{:>12}   measured: {}, which includes other work of the program\n",
                     "accounted", time_text(ledger.total()), time_text(run.cpu_ns));
  const model::Workload each{.size = message};
  auto cached = each;
  cached.hit_rate = 1;
  const auto this_end = [&](Mode mode, const model::Workload& workload) {
    const auto cost = transfer_cost(mode, p, workload, octets);
    return time_text((sender ? cost.tx : cost.rx).total());
  };
  out += fmt::format("Predicted processor time of this end for the same {}\n",
                     transfer_text(octets, message));
  for (const auto mode : {Mode::kSockets, Mode::kSoftware, Mode::kToe, Mode::kRnic}) {
    out += fmt::format("  {:<16}{:>12}\n", to_string(mode), this_end(mode, each));
  }
  return out + fmt::format("  {:<16}{:>12}   with cached registrations\n", "RNIC",
                           this_end(Mode::kRnic, cached));
}

}  // namespace iwarp::apps::usage
