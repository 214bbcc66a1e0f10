// SPDX-License-Identifier: Apache-2.0
// Formats the report as text.
#include "perf/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.hpp"
#include "iwarp/verbs/counter_names.hpp"

namespace iwarp::apps::perf {

namespace {

using measure::Interval;
using measure::Measurement;
using measure::Observed;
using measure::Plan;

constexpr double kGiga = 1e9;

double calls_per_message(const Measurement& m, const Observed& used) {
  const auto& c = used.counters;
  const auto messages = std::max<std::uint64_t>(m.messages, 1);
  return static_cast<double>(c.send_calls + c.receive_calls + c.wait_calls) /
         static_cast<double>(messages);
}

/// Returns the rates as text: "    10.012 Gb/s    1.252 GB/s     19097 messages/s".
std::string rates(double octets, double messages, double seconds) {
  const auto rate = per_second(seconds, octets);
  return fmt::format("{:>9.3f} Gb/s {:>9.4f} GB/s {:>10.0f} messages/s", rate * 8 / kGiga,
                     rate / kGiga, per_second(seconds, messages));
}

/// Formats a number of bytes with decimal units, because the rates also have decimal units.
std::string moved(double octets) {
  if (octets >= kGiga) return fmt::format("{:.2f} GB", octets / kGiga);
  return fmt::format("{:.2f} MB", octets / 1e6);
}

/// Returns a line of the summary.
std::string line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<16} {}\n", name, text);
}

std::string moved_line(const Measurement& m) {
  return line("moved", fmt::format("{:>9} in {:.2f} s", moved(m.octets()), m.seconds));
}

/// Returns the lines of a latency test. The first line has the main result: min, median and tail.
std::string latency_lines(const Measurement& m) {
  const auto at = [&](double part) { return format_duration(m.latency.percentile(part)); };
  const bool one_way = !m.plan.is(measure::Operation::kRead);
  auto out = line(one_way ? "one-way latency" : "latency",
                  fmt::format("min {}, median {}, p99 {}, p99.9 {}, max {}", at(0), at(0.5),
                              at(0.99), at(0.999), at(1)));
  if (one_way) out += line("", "half of the round-trip time");
  const auto messages = static_cast<double>(m.messages);
  out += line("rate", fmt::format("{:.0f} messages/s", per_second(m.seconds, messages)));
  return out + moved_line(m);
}

std::string throughput_lines(const Measurement& m) {
  const auto at = [&](double part) { return format_duration(m.latency.percentile(part)); };
  const auto messages = static_cast<double>(m.messages);
  auto out = line("throughput", rates(m.octets(), messages, m.seconds)) + moved_line(m);
  if (m.plan.qps > 1) {
    out += line(m.plan.is_tcp() ? "slowest stream" : "slowest QP",
                fmt::format("{:.0f} % of the mean", 100 * m.slowest_share));
  }
  return out +
         line("latency", fmt::format("p50 {}, p99 {}, p99.9 {}", at(0.5), at(0.99), at(0.999)));
}

}  // namespace

std::string head_text(const Plan& plan) {
  auto out = fmt::format("{}: {}", plan.test->name, format_octets(static_cast<double>(plan.size)));
  if (!plan.is_latency()) out += fmt::format(", depth {}", plan.depth);
  if (plan.qps > 1) out += fmt::format(", {} {}", plan.qps, plan.is_tcp() ? "connections" : "QPs");
  if (plan.list > 1) out += fmt::format(", lists of {}", plan.list);
  out += fmt::format(", {}", to_string(plan.waiting));
  const auto& c = plan.connection;
  if (!plan.is_tcp()) {
    out +=
        fmt::format(", CRC {}, markers {}, FPDU {}, {} placement", shown("IWARP_CRC", c),
                    shown("IWARP_MARKERS", c), shown("IWARP_FPDU", c), shown("IWARP_PLACEMENT", c));
  }
  if (!c.congestion.empty()) out += fmt::format(", {}", c.congestion);
  if (plan.check) out += ", all payload checked";
  return out + "\n";
}

std::string interval_text(const Plan& plan, const Interval& interval) {
  const auto messages = static_cast<double>(interval.messages);
  const auto octets = messages * static_cast<double>(plan.size);
  const auto seconds = interval.to - interval.from;
  auto out = fmt::format("  {:>7.2f}-{:<7.2f} s ", interval.from, interval.to);
  if (plan.is_latency()) {
    const auto latency = fmt::format("min {}, median {}, p99 {}", format_duration(interval.min),
                                     format_duration(interval.p50), format_duration(interval.p99));
    out += fmt::format("{:<48} {:>10.0f} messages/s", latency, per_second(seconds, messages));
  } else {
    out += fmt::format("{:>10} {}", moved(octets), rates(octets, messages, seconds));
  }
  return out + (interval.partial ? "  (partial)\n" : "\n");
}

std::string summary_text(const Measurement& m) {
  auto out = m.plan.is_latency() ? latency_lines(m) : throughput_lines(m);
  const auto both = [&](std::string_view name, const std::string& client,
                        const std::string& server) {
    const auto& known = m.confirmed ? server : "unknown";
    out += line(name, fmt::format("{:>16} {:>16}", client, known));
  };
  both("", "client", "server");
  both("CPU s per GB", fmt::format("{:.3f}", cpu_per_gb(m, m.used)),
       fmt::format("{:.3f}", cpu_per_gb(m, m.server)));
  both("calls/message", fmt::format("{:.3f}", calls_per_message(m, m.used)),
       fmt::format("{:.3f}", calls_per_message(m, m.server)));
  for (const auto& field : verbs::counter_names()) {
    const auto client = m.used.counters.*field.member;
    const auto server = m.server.counters.*field.member;
    if (client == 0 && server == 0) continue;
    both(field.name, std::to_string(client), std::to_string(server));
  }
  return out + m.latency.text();
}

}  // namespace iwarp::apps::perf
