// SPDX-License-Identifier: Apache-2.0
// Converts a job to the plan of a measurement, and the measurement's result to a record.
#include "cost/bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/error.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "measure/measurement/processes.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kWindow = 16;          // number of Writes in flight
constexpr std::chrono::seconds kLongest{100};  // maximum duration of a phase of the measurement

/// Returns the number of messages that take about `job.seconds`. Estimates it from typical costs;
/// the estimate affects only the duration of the run.
std::uint64_t messages_for(const Job& job) {
  constexpr double kGuessedPerMessage = 2e-6;  // in seconds
  constexpr double kGuessedPerOctet = 0.5e-9;
  const auto each = kGuessedPerMessage + static_cast<double>(job.size) * kGuessedPerOctet;
  return static_cast<std::uint64_t>(std::clamp(job.seconds / each, 16.0, 1e6));
}

measure::Measurement run(const Job& job) {
  try {
    return measure::measure_apart(plan_of(job));
  } catch (const Error& error) {
    throw Error(fmt::format("{} of {} octets: {}", job.mode, job.size, error.what()));
  }
}

}  // namespace

measure::Plan plan_of(const Job& job) {
  const bool iwarp = job.mode == "iwarp";
  measure::Plan plan;
  plan.test = measure::find_test(iwarp ? "write-bw" : "tcp-stream");
  plan.size = job.size;
  plan.depth = kWindow;
  plan.duration = kLongest;
  plan.connection.congestion = kCongestion;
  auto& connection = plan.connection.connection;
  connection.startup.extensions = false;
  connection.startup.crc = job.crc != "off";
  connection.startup.markers = job.markers;
  connection.max_ulpdu = job.fpdu;
  plan.counted = {.messages = job.messages != 0 ? job.messages : messages_for(job),
                  .read = iwarp ? 0 : job.read,
                  .cpus = job.cpus,
                  .crc_kernel = {}};
  if (iwarp && job.crc != "off" && job.crc != "best") plan.counted.crc_kernel = job.crc;
  measure::validate(plan);
  return plan;
}

std::vector<Job> sweep(double seconds, const std::string& cpus) {
  std::vector<Job> out;
  Job job{.seconds = seconds, .cpus = cpus};
  for (const std::uint64_t size : {64U, 256U, 1024U, 4096U, 16384U, 65536U, 262144U, 1048576U}) {
    job.size = size;
    out.push_back(job);
  }
  for (const std::uint64_t size : {16384U, 65536U, 1048576U}) {
    for (const std::uint64_t read : {2048U, 8192U, 32768U}) {
      job.size = size;
      job.read = read;
      out.push_back(job);
    }
  }
  return out;
}

Record measure(const Job& job) {
  const auto result = run(job);
  const bool iwarp = job.mode == "iwarp";
  Record out;
  out.tx = result.used;
  out.rx = result.server;
  // No segment is lost over loopback, so each end receives all segments that the other end sends.
  out.tx.segments_received = out.rx.segments_sent;
  out.rx.segments_received = out.tx.segments_sent;
  out.mode = job.mode;
  out.crc = !iwarp ? "off" : job.crc == "best" ? crc32c::active().name : job.crc;
  out.markers = job.markers;
  out.size = job.size;
  out.messages = result.messages;
  out.seconds = result.seconds;
  out.fpdu = job.fpdu;
  out.read = iwarp ? 0 : job.read;
  out.cpus = job.cpus;
  return out;
}

}  // namespace iwarp::apps::cost
