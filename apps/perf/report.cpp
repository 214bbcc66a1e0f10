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
  const auto messages = std::max<std::uint64_t>(m.outcome.messages, 1);
  return static_cast<double>(c.send_calls + c.receive_calls + c.wait_calls) /
         static_cast<double>(messages);
}

/// Returns three latencies as text: "min 9.8 us, median 10.2 us, p99 15.9 us".
std::string latency_text(std::chrono::nanoseconds min, std::chrono::nanoseconds median,
                         std::chrono::nanoseconds p99) {
  return fmt::format("min {}, median {}, p99 {}", format_duration(min), format_duration(median),
                     format_duration(p99));
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

std::string moved_line(const Measurement& m) {
  return fmt::format("  {:<16} {:>9} in {:.2f} s\n", "moved", moved(m.octets()), m.outcome.seconds);
}

/// Returns the lines of a latency test. The first line has the main result: min, median and tail.
std::string latency_lines(const Measurement& m) {
  const auto& latency = m.outcome.latency;
  const bool one_way = m.plan.test->operation != measure::Operation::kRead;
  auto out = fmt::format(
      "  {:<16} {}, p99.9 {}, max {}\n", one_way ? "one-way latency" : "latency",
      latency_text(latency.percentile(0), latency.percentile(0.5), latency.percentile(0.99)),
      format_duration(latency.percentile(0.999)), format_duration(latency.percentile(1)));
  if (one_way) out += fmt::format("  {:<16} half of the round-trip time\n", "");
  out += fmt::format("  {:<16} {:.0f} messages/s\n", "rate",
                     per_second(m.outcome.seconds, static_cast<double>(m.outcome.messages)));
  return out + moved_line(m);
}

std::string throughput_lines(const Measurement& m) {
  const auto& latency = m.outcome.latency;
  auto out =
      fmt::format("  {:<16} {}\n", "throughput",
                  rates(m.octets(), static_cast<double>(m.outcome.messages), m.outcome.seconds));
  out += moved_line(m);
  if (m.plan.qps > 1) {
    out += fmt::format("  {:<16} {:.0f} % of the mean\n",
                       m.plan.is_tcp() ? "slowest stream" : "slowest QP",
                       100 * m.outcome.slowest_share);
  }
  return out + fmt::format("  {:<16} p50 {}, p99 {}, p99.9 {}\n", "latency",
                           format_duration(latency.percentile(0.5)),
                           format_duration(latency.percentile(0.99)),
                           format_duration(latency.percentile(0.999)));
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
    out += fmt::format("{:<48} {:>10.0f} messages/s",
                       latency_text(interval.min, interval.p50, interval.p99),
                       per_second(seconds, messages));
  } else {
    out += fmt::format("{:>10} {}", moved(octets), rates(octets, messages, seconds));
  }
  return out + (interval.partial ? "  (partial)\n" : "\n");
}

std::string summary_text(const Measurement& m) {
  auto out = m.plan.is_latency() ? latency_lines(m) : throughput_lines(m);
  const auto line = [&](std::string_view name, const std::string& client,
                        const std::string& server) {
    out += fmt::format("  {:<16} {:>16} {:>16}\n", name, client,
                       m.outcome.confirmed ? server : "unknown");
  };
  line("", "client", "server");
  line("CPU s per GB", fmt::format("{:.3f}", cpu_per_gb(m, m.client)),
       fmt::format("{:.3f}", cpu_per_gb(m, m.server)));
  line("calls/message", fmt::format("{:.3f}", calls_per_message(m, m.client)),
       fmt::format("{:.3f}", calls_per_message(m, m.server)));
  for (const auto& field : verbs::counter_names()) {
    const auto client = m.client.counters.*field.member;
    const auto server = m.server.counters.*field.member;
    if (client == 0 && server == 0) continue;
    line(field.name, std::to_string(client), std::to_string(server));
  }
  return out + m.outcome.latency.text();
}

}  // namespace iwarp::apps::perf
