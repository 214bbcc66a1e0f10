// SPDX-License-Identifier: Apache-2.0
// The ledger of a real transfer.
#include "usage/bill.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.hpp"

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

/// This end's part of one message, times messages.
double others(const model::Parameters& p, Mode mode, model::Workload w, double messages,
              bool sender) {
  const auto cost = message_cost(mode, p, w);
  return messages * (sender ? cost.tx : cost.rx).total();
}

}  // namespace

void add_cost_option(cli::Command& command, std::optional<std::string>& host) {
  command.optional_text("--cost", "HOST", host,
                        "Afterwards, what this end cost the processor, and what a TOE or an RNIC "
                        "would have; HOST is a preset or a host.json, the newest preset if left "
                        "out");
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
  auto out = fmt::format("Processor time of this end, accounted with {}\n", title_of(host));
  out += components(ledger);
  out += fmt::format("  {:<16}{:>12}   measured {} in all, with whatever else the program did\n",
                     "accounted", time_text(ledger.total()), time_text(run.cpu_ns));
  const auto messages = std::ceil(octets / message);
  const model::Workload each{.size = message};
  auto cached = each;
  cached.hit_rate = 1;
  out += fmt::format("The same {} in messages of {}, this end, by the model\n",
                     format_octets(octets), format_octets(message));
  for (const auto mode : {Mode::kSockets, Mode::kSoftware, Mode::kToe, Mode::kRnic}) {
    out += fmt::format("  {:<16}{:>12}\n", to_string(mode),
                       time_text(others(p, mode, each, messages, sender)));
  }
  return out + fmt::format("  {:<16}{:>12}   with its registrations cached\n", "RNIC",
                           time_text(others(p, Mode::kRnic, cached, messages, sender)));
}

LiveLedger::LiveLedger(const std::string& host, Session& session)
    : set_(cost_host(host)), session_(session), start_(now()) {}

model::Observed LiveLedger::now() const {
  auto out = used_so_far();
  out.counters = session_.rnic().counters(session_.qp());
  return out;
}

std::string LiveLedger::text(double octets, double message, bool sender) const {
  return bill(set_, difference(now(), start_), octets, message, sender);
}

}  // namespace iwarp::apps::usage
