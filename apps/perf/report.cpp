// SPDX-License-Identifier: Apache-2.0
// Formats the report as text, and as one JSON object: first the results, then the options and the
// machine. In JSON, bytes that are not valid UTF-8, for example in a host name or an argument,
// become replacement characters.
#include "perf/report.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/units.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/verbs/counter_names.hpp"

namespace iwarp::apps::perf {

namespace {

using Json = nlohmann::ordered_json;
using measure::Interval;
using measure::Measurement;
using measure::Observed;
using measure::Plan;

constexpr double kGiga = 1e9;

double per_second(double seconds, double amount) { return seconds > 0 ? amount / seconds : 0; }
/// Returns the processor time that one end used per GB, in seconds.
double cpu_per_gb(const measure::Measurement& m, const measure::Observed& used) {
  return m.octets() > 0 ? used.cpu_ns / m.octets() : 0;
}

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

// JSON --------------------------------------------------------------------------------------------

Json counters_json(const verbs::Counters& counters) {
  Json out;
  for (const auto& field : verbs::counter_names()) out[field.name] = counters.*field.member;
  return out;
}

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

Json interval_json(const Plan& plan, const Interval& interval) {
  const auto messages = static_cast<double>(interval.messages);
  const auto octets = messages * static_cast<double>(plan.size);
  const auto seconds = interval.to - interval.from;
  return {{"from", interval.from},
          {"to", interval.to},
          {"octets", octets},
          {"messages", interval.messages},
          {"bytes_per_second", per_second(seconds, octets)},
          {"bits_per_second", per_second(seconds, octets * 8)},
          {"messages_per_second", per_second(seconds, messages)},
          {"latency_us",
           {{"min", microseconds(interval.min)},
            {"p50", microseconds(interval.p50)},
            {"p99", microseconds(interval.p99)}}},
          {"partial", interval.partial}};
}

/// Returns the values of all options. They come from the plan, which has the test's defaults filled
/// in.
Json options_json(const Report& report) {
  const auto& plan = report.result.plan;
  Json out{{"depth", plan.depth},
           {"qps", plan.qps},
           {"active", plan.carriers()},
           {"list", plan.list},
           {"duration", static_cast<double>(plan.duration.count()) / 1e3},
           {"warm_up", static_cast<double>(plan.warm_up.count()) / 1e3},
           {"interval", report.interval},
           {"waiting", to_string(plan.waiting)},
           {"check", plan.check}};
  out.update(measure::connection_json(plan.connection, true));
  out["server"] = report.server.empty() ? "self" : report.server;
  return out;
}

/// Returns the model of the processor, or an empty string if the kernel does not report it.
std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

Json machine_json() {
  utsname name{};
  uname(&name);
  return {{"system", name.sysname},
          {"node", name.nodename},
          {"kernel", name.release},
          {"build", name.version},
          {"architecture", name.machine},
          {"cpu", cpu_model()},
          {"processors", sysconf(_SC_NPROCESSORS_ONLN)}};
}

/// Returns the arguments with which this process was started.
std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string word; std::getline(in, word, '\0');) out.push_back(word);
  return out;
}

Json figures_json(const Measurement& m) {
  const auto& latency = m.latency;
  const auto rate = per_second(m.seconds, m.octets());
  const auto messages = static_cast<double>(m.messages);
  const auto of_server = [&](const Json& value) { return m.confirmed ? value : Json(nullptr); };
  return {{"test", m.plan.test->name},
          {"size", m.plan.size},
          {"bytes_per_second", rate},
          {"messages_per_second", per_second(m.seconds, messages)},
          {"latency_us",
           {{"min", microseconds(latency.percentile(0))},
            {"p50", microseconds(latency.percentile(0.5))},
            {"p99", microseconds(latency.percentile(0.99))},
            {"p999", microseconds(latency.percentile(0.999))},
            {"max", microseconds(latency.percentile(1))}}},
          {"cpu_seconds_per_gb",
           {{"client", cpu_per_gb(m, m.used)}, {"server", of_server(cpu_per_gb(m, m.server))}}},
          {"counters",
           {{"client", counters_json(m.used.counters)},
            {"server", of_server(counters_json(m.server.counters))}}},
          {"bits_per_second", rate * 8},
          {"seconds", m.seconds},
          {"messages", m.messages},
          {"slowest_share", m.slowest_share}};
}

}  // namespace

std::string head_text(const Plan& plan) {
  auto out = fmt::format("{}: {}", plan.test->name, format_octets(static_cast<double>(plan.size)));
  if (!plan.is_latency()) out += fmt::format(", depth {}", plan.depth);
  if (plan.qps > 1) out += fmt::format(", {} {}", plan.qps, plan.is_tcp() ? "connections" : "QPs");
  if (plan.active != 0) out += fmt::format(", {} of them active", plan.active);
  if (plan.list > 1) out += fmt::format(", lists of {}", plan.list);
  out += fmt::format(", {}", to_string(plan.waiting));
  const auto& c = plan.connection;
  if (!plan.is_tcp()) {
    out +=
        fmt::format(", CRC {}, markers {}, FPDU {}, {} placement", shown("IWARP_CRC", c),
                    shown("IWARP_MARKERS", c), shown("IWARP_FPDU", c), shown("IWARP_PLACEMENT", c));
  }
  if (!c.congestion.empty()) out += fmt::format(", {}", c.congestion);
  if (plan.check) out += ", every received byte checked";
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

std::string report_json(const Report& report) {
  const auto& plan = report.result.plan;
  auto out = figures_json(report.result);
  out["interrupted"] = report.interrupted;
  out["intervals"] = Json::array();
  for (const auto& one : report.intervals) out["intervals"].push_back(interval_json(plan, one));
  out["options"] = options_json(report);
  out["crc_kernel"] = crc32c::active().name;
  out["congestion_in_effect"] = report.result.congestion;
  out["version"] = IWARP_VERSION;
  out["date"] = report.date;
  out["machine"] = machine_json();
  out["command"] = command_line();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace iwarp::apps::perf
