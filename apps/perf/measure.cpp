// SPDX-License-Identifier: Apache-2.0
// Processor time, counters, and the two forms of a report.
#include "perf/measure.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/counter_names.hpp"
#include "common/error.hpp"
#include "common/units.hpp"

namespace iwarp::apps::perf {

namespace {

using Json = nlohmann::ordered_json;
using verbs::Counters;

Json counters_json(const Counters& counters) {
  Json out;
  for (const auto& field : counter_names()) out[field.name] = counters.*field.member;
  return out;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double per_second(const Report& r, double amount) {
  return r.outcome.seconds > 0 ? amount / r.outcome.seconds : 0;
}

double cpu_per_gb(const Report& r, const Usage& usage) {
  return r.octets() > 0 ? usage.cpu_seconds * 1e9 / r.octets() : 0;
}

double microseconds(Histogram::Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

double calls_per_message(const Report& r, const Usage& usage) {
  const auto& c = usage.counters;
  const auto messages = std::max<std::uint64_t>(r.outcome.messages, 1);
  return static_cast<double>(c.send_calls + c.receive_calls + c.wait_calls) /
         static_cast<double>(messages);
}

std::string header(const Plan& plan) {
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

}  // namespace

double Report::octets() const {
  return static_cast<double>(outcome.messages) * static_cast<double>(plan.size);
}

Usage usage_now(const Counters& counters) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime), .counters = counters};
}

Usage operator-(const Usage& after, const Usage& before) {
  Usage out{.cpu_seconds = after.cpu_seconds - before.cpu_seconds, .counters = after.counters};
  for (const auto& field : counter_names())
    out.counters.*field.member -= before.counters.*field.member;
  return out;
}

nlohmann::json to_json(const Usage& usage) {
  return {{"cpu_seconds", usage.cpu_seconds}, {"counters", counters_json(usage.counters)}};
}

Usage usage_from_json(const nlohmann::json& json) {
  try {
    Usage out;
    json.at("cpu_seconds").get_to(out.cpu_seconds);
    for (const auto& field : counter_names()) {
      json.at("counters").at(field.name).get_to(out.counters.*field.member);
    }
    return out;
  } catch (const nlohmann::json::exception&) {
    throw Error("the server's report is not understood");
  }
}

std::string report_json(const Report& r) {
  const auto& latency = r.outcome.latency;
  const Json out{{"test", r.plan.test->name},
                 {"size", r.plan.size},
                 {"bytes_per_second", per_second(r, r.octets())},
                 {"messages_per_second", per_second(r, static_cast<double>(r.outcome.messages))},
                 {"latency_us",
                  {{"p50", microseconds(latency.percentile(0.5))},
                   {"p99", microseconds(latency.percentile(0.99))},
                   {"p999", microseconds(latency.percentile(0.999))}}},
                 {"cpu_seconds_per_gb",
                  {{"client", cpu_per_gb(r, r.client)}, {"server", cpu_per_gb(r, r.server)}}},
                 {"counters",
                  {{"client", counters_json(r.client.counters)},
                   {"server", counters_json(r.server.counters)}}}};
  return out.dump(2) + "\n";
}

std::string report_text(const Report& r) {
  const auto& latency = r.outcome.latency;
  std::string out = header(r.plan);
  out += fmt::format("  {:<16} {:>12.1f} MB/s {:>14.0f} messages/s\n", "throughput",
                     per_second(r, r.octets()) / 1e6,
                     per_second(r, static_cast<double>(r.outcome.messages)));
  out += fmt::format(
      "  {:<16} p50 {}, p99 {}, p99.9 {}\n", "latency", format_duration(latency.percentile(0.5)),
      format_duration(latency.percentile(0.99)), format_duration(latency.percentile(0.999)));
  out += fmt::format("  {:<16} {:>16} {:>16}\n", "", "client", "server");
  out += fmt::format("  {:<16} {:>16.3f} {:>16.3f}\n", "CPU s per GB", cpu_per_gb(r, r.client),
                     cpu_per_gb(r, r.server));
  out += fmt::format("  {:<16} {:>16.3f} {:>16.3f}\n", "calls/message",
                     calls_per_message(r, r.client), calls_per_message(r, r.server));
  for (const auto& field : counter_names()) {
    const auto client = r.client.counters.*field.member;
    const auto server = r.server.counters.*field.member;
    if (client == 0 && server == 0) continue;
    out += fmt::format("  {:<16} {:>16} {:>16}\n", field.name, client, server);
  }
  return out + latency.text();
}

}  // namespace iwarp::apps::perf
