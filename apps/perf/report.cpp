// SPDX-License-Identifier: Apache-2.0
// The form for people.
#include "perf/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.hpp"
#include "iwarp/verbs/counter_names.hpp"
#include "perf/figures.hpp"

namespace iwarp::apps::perf {

namespace {

using measure::Interval;
using measure::Measurement;
using measure::Observed;
using measure::Plan;

constexpr double kGiga = 1e9;

double calls_per_message(const Measurement& m, const Observed& used) {
  const auto& c = used.counters;
  const auto messages = std::max<std::uint64_t>(m.outcome.messages, 1);
  return static_cast<double>(c.send_calls + c.receive_calls + c.wait_calls) /
         static_cast<double>(messages);
}

/// "    10.012 Gb/s    1.252 GB/s     19097 messages/s"
std::string rates(double octets, double messages, double seconds) {
  const auto rate = per_second(seconds, octets);
  return fmt::format("{:>9.3f} Gb/s {:>9.4f} GB/s {:>10.0f} messages/s", rate * 8 / kGiga,
                     rate / kGiga, per_second(seconds, messages));
}

/// Decimal, as the rates are.
std::string moved(double octets) {
  if (octets >= kGiga) return fmt::format("{:.2f} GB", octets / kGiga);
  return fmt::format("{:.2f} MB", octets / 1e6);
}

}  // namespace

std::string head_text(const Plan& plan) {
  auto out = fmt::format("{}: {}", plan.test->name, format_octets(static_cast<double>(plan.size)));
  if (!plan.is_latency()) out += fmt::format(", depth {}", plan.depth);
  if (plan.qps > 1) out += fmt::format(", {} QPs", plan.qps);
  if (plan.list > 1) out += fmt::format(", lists of {}", plan.list);
  out += fmt::format(", {}", to_string(plan.waiting));
  const auto& c = plan.connection;
  if (!plan.is_tcp()) {
    out += fmt::format(", CRC {}, markers {}, FPDU {}, {} placement", c.crc,
                       c.markers ? "on" : "off", c.fpdu, c.placement);
  }
  if (!c.congestion.empty()) out += fmt::format(", {}", c.congestion);
  if (plan.check) out += ", all payload checked";
  return out + "\n";
}

std::string interval_text(const Plan& plan, const Interval& interval) {
  const auto messages = static_cast<double>(interval.messages);
  const auto octets = messages * static_cast<double>(plan.size);
  auto out = fmt::format("  {:>7.2f}-{:<7.2f} s {:>10} {}", interval.from, interval.to,
                         moved(octets), rates(octets, messages, interval.to - interval.from));
  if (plan.is_latency()) {
    out += fmt::format("  p50 {}, p99 {}", format_duration(interval.p50),
                       format_duration(interval.p99));
  }
  return out + "\n";
}

std::string summary_text(const Measurement& m) {
  const auto& latency = m.outcome.latency;
  auto out =
      fmt::format("  {:<16} {}\n", "throughput",
                  rates(m.octets(), static_cast<double>(m.outcome.messages), m.outcome.seconds));
  out += fmt::format("  {:<16} {:>9} in {:.2f} s\n", "moved", moved(m.octets()), m.outcome.seconds);
  out += fmt::format(
      "  {:<16} p50 {}, p99 {}, p99.9 {}\n", "latency", format_duration(latency.percentile(0.5)),
      format_duration(latency.percentile(0.99)), format_duration(latency.percentile(0.999)));
  out += fmt::format("  {:<16} {:>16} {:>16}\n", "", "client", "server");
  out += fmt::format("  {:<16} {:>16.3f} {:>16.3f}\n", "CPU s per GB", cpu_per_gb(m, m.client),
                     cpu_per_gb(m, m.server));
  out += fmt::format("  {:<16} {:>16.3f} {:>16.3f}\n", "calls/message",
                     calls_per_message(m, m.client), calls_per_message(m, m.server));
  for (const auto& field : verbs::counter_names()) {
    const auto client = m.client.counters.*field.member;
    const auto server = m.server.counters.*field.member;
    if (client == 0 && server == 0) continue;
    out += fmt::format("  {:<16} {:>16} {:>16}\n", field.name, client, server);
  }
  return out + latency.text();
}

}  // namespace iwarp::apps::perf
