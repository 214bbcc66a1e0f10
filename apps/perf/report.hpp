// SPDX-License-Identifier: Apache-2.0
// What iwarp perf shows: a line for each interval while it runs and a summary, for people, or all
// of it as JSON, with everything that is needed to do the same run again. A GB is 10^9 octets.
#pragma once

#include <string>
#include <vector>

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::perf {

struct Report {
  measure::Measurement result;
  double interval = 0;  ///< seconds; 0: none were asked for
  std::vector<measure::Interval> intervals;
  std::string server;        ///< as on the command line; empty: a process of its own here
  std::string date;          ///< of the start, ISO 8601, UTC
  bool interrupted = false;  ///< ended early by a signal
};

/// What is measured, one line.
std::string head_text(const measure::Plan& plan);
std::string interval_text(const measure::Plan& plan, const measure::Interval& interval);
/// The summary with both ends' counters, and the histogram.
std::string summary_text(const measure::Measurement& result);

/// Rates, latencies and counters of both ends, the same per interval, all options as they were
/// resolved, and what of this machine and this program matters.
std::string report_json(const Report& report);

}  // namespace iwarp::apps::perf
