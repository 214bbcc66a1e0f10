// SPDX-License-Identifier: Apache-2.0
// Makes runs, and converts records to JSON and back.
#include "cost/bench/record.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "measure/measurement/processes.hpp"
#include "usage/host.hpp"
#include "usage/json_number.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kWindow = 16;            // number of Writes in flight
constexpr std::uint64_t kReadAhead = 256 << 10;  // bytes that this stack reads ahead
constexpr std::chrono::seconds kLongest{100};    // maximum duration of a phase of the measurement

/// The congestion control of every measured connection. Reno does not pace, which suits the model:
/// the model has no cost for a timer per segment. If the system default were bbr, which paces, and
/// a hypervisor emulated the timers, pacing would cost more than the whole rest of a transfer.
constexpr const char* kCongestion = "reno";

/// Returns the number of messages that take about the time of the run. Estimates it from typical
/// costs; the estimate affects only the duration of the run.
std::uint64_t messages_for(const Record& run) {
  constexpr double kGuessedPerMessage = 2e-6;  // in seconds
  constexpr double kGuessedPerOctet = 0.5e-9;
  const auto each = kGuessedPerMessage + static_cast<double>(run.size) * kGuessedPerOctet;
  return static_cast<std::uint64_t>(std::clamp(run.seconds / each, 16.0, 1e6));
}

/// Calls `each` with the name and the value of each member that is one text or number.
void for_members(auto& record, auto each) {
  each("mode", record.mode);
  each("crc", record.crc);
  each("markers", record.markers);
  each("size", record.size);
  each("messages", record.messages);
  each("fpdu", record.fpdu);
  each("read", record.read);
  each("cpus", record.cpus);
  each("seconds", record.seconds);
}

}  // namespace

Record socket_run(std::uint64_t size, double seconds, const std::string& cpus) {
  return {.mode = "sockets",
          .crc = "off",
          .size = size,
          .read = kReadAhead,
          .cpus = cpus,
          .seconds = seconds};
}

std::vector<Record> sweep(double seconds, const std::string& cpus) {
  std::vector<Record> out;
  for (const std::uint64_t size : {64U, 256U, 1024U, 4096U, 16384U, 65536U, 262144U, 1048576U}) {
    out.push_back(socket_run(size, seconds, cpus));
  }
  for (const std::uint64_t size : {16384U, 65536U, 1048576U}) {
    for (const std::uint64_t read : {2048U, 8192U, 32768U}) {
      out.push_back(socket_run(size, seconds, cpus));
      out.back().read = read;
    }
  }
  return out;
}

measure::Plan plan_of(const Record& run) {
  measure::Plan plan;
  plan.test = measure::find_test(run.mode == "iwarp" ? "write-bw" : "tcp-stream");
  plan.size = run.size;
  plan.depth = kWindow;
  plan.duration = kLongest;
  plan.connection.congestion = kCongestion;
  auto& connection = plan.connection.connection;
  connection.startup.extensions = false;
  connection.startup.crc = run.crc != "off";
  connection.startup.markers = run.markers;
  connection.max_ulpdu = run.fpdu;
  plan.counted = {.messages = run.messages != 0 ? run.messages : messages_for(run),
                  .read = run.read,
                  .cpus = run.cpus,
                  .crc_kernel = run.crc != "off" ? run.crc : ""};
  measure::validate(plan);
  return plan;
}

Record measure(Record run) try {
  const auto result = measure::measure_apart(plan_of(run));
  run.tx = result.used;
  run.rx = result.server;
  // No segment is lost over loopback, so each end receives all segments that the other end sends.
  run.tx.segments_received = run.rx.segments_sent;
  run.rx.segments_received = run.tx.segments_sent;
  run.messages = result.messages;
  run.seconds = result.seconds;
  return run;
} catch (const Error& error) {
  throw Error(fmt::format("{} of {} octets: {}", run.mode, run.size, error.what()));
}

Json to_json(const Record& record) {
  Json out = Json::object();
  for_members(record, [&](const char* name, const auto& value) { out[name] = value; });
  out["sender"] = usage::to_json(record.tx);
  out["receiver"] = usage::to_json(record.rx);
  return out;
}

Record record_from(const Json& json) try {
  Record out;
  for_members(out, [&](const char* name, auto& value) { usage::read_number(json, name, value); });
  out.tx = usage::observed_from_json(json.at("sender"));
  out.rx = usage::observed_from_json(json.at("receiver"));
  return out;
} catch (const Json::exception& error) {
  throw Error(std::string("not in the format that iwarp cost validate --out writes: ") +
              error.what());
}

std::vector<Record> read_records(const std::string& path) {
  const auto root = bytes::parse_json<Json>(usage::read_text(path));
  if (!root) throw UsageError(path + ": " + root.error());
  if (!root->is_array()) throw UsageError(path + ": not a JSON array of records");
  std::vector<Record> out;
  try {
    for (const auto& one : *root) out.push_back(record_from(one));
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: record {}: {}", path, out.size() + 1, error.what()));
  }
  return out;
}

void write_records(const std::string& path, const std::vector<Record>& records) {
  Json root = Json::array();
  for (const auto& record : records) root.push_back(to_json(record));
  write_file(path, root.dump(1) + "\n");
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error("cannot write " + path + ": " + errno_text());
}

StatusLine::StatusLine() : shown_(isatty(STDERR_FILENO) == 1) {}
StatusLine::~StatusLine() { show(""); }
void StatusLine::show(const std::string& text) const {
  if (shown_) fmt::print(stderr, "\r{}\x1b[K", text);
}

}  // namespace iwarp::apps::cost
