// SPDX-License-Identifier: Apache-2.0
// Formats the report as one JSON object: first the results, then the options and the machine. Bytes
// that are not valid UTF-8, for example in a host name or an argument, become replacement
// characters.
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/verbs/counter_names.hpp"
#include "perf/report.hpp"

namespace iwarp::apps::perf {

namespace {

using Json = nlohmann::ordered_json;
using measure::Interval;
using measure::Measurement;
using measure::Plan;

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
