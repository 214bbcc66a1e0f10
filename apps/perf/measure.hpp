// SPDX-License-Identifier: Apache-2.0
// What one end measures of itself, and what becomes of both ends' measures: a report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "iwarp/offload_model/live.hpp"
#include "iwarp/verbs/counters.hpp"
#include "perf/histogram.hpp"
#include "perf/plan.hpp"

namespace iwarp::apps::perf {

/// Processor time and counters of this process, so far or between two moments.
struct Usage {
  double cpu_seconds = 0;
  verbs::Counters counters;
};
Usage usage_now(const verbs::Counters& counters);
Usage operator-(const Usage& after, const Usage& before);

nlohmann::json to_json(const Usage& usage);
/// Error: not what to_json() makes.
Usage usage_from_json(const nlohmann::json& json);

/// What the client saw of one phase.
struct Outcome {
  std::uint64_t messages = 0;  ///< to and fro counts as one
  double seconds = 0;
  Histogram latency;
};

struct Report {
  Plan plan;
  Outcome outcome;
  Usage client;
  Usage server;
  offload_model::Observed observed;  ///< the client's, for --cost

  /// Of payload, one way.
  double octets() const;
};

/// Fields: test, size, bytes_per_second, messages_per_second, latency_us {p50, p99, p999},
/// cpu_seconds_per_gb {client, server}, counters {client {...}, server {...}}. A GB is 10^9 octets.
std::string report_json(const Report& report);
/// The same for people, and the histogram.
std::string report_text(const Report& report);

}  // namespace iwarp::apps::perf
