// SPDX-License-Identifier: Apache-2.0
// Output of iwarp perf: a line for each interval during the run and a summary as text, or all of it
// as JSON with everything that is needed to repeat the run. A GB is 10^9 bytes.
#pragma once

#include <string>
#include <vector>

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::perf {

struct Report {
  measure::Measurement result;
  double interval = 0;  ///< seconds; 0 if no intervals were requested
  std::vector<measure::Interval> intervals;
  std::string server;  ///< from the command line; empty if the server is a local child process
  std::string date;    ///< of the start; ISO 8601, UTC
  bool interrupted = false;  ///< ended early by a signal
};

/// Returns one line that says what is measured.
std::string head_text(const measure::Plan& plan);
std::string interval_text(const measure::Plan& plan, const measure::Interval& interval);
/// Returns the summary with the counters of both ends, and the histogram.
std::string summary_text(const measure::Measurement& result);

/// Returns rates, latencies and counters of both ends, in total and per interval, all resolved
/// options, and the relevant properties of this machine and program.
std::string report_json(const Report& report);

}  // namespace iwarp::apps::perf
