// SPDX-License-Identifier: Apache-2.0
// The output of `iwarp perf`: a line for each interval during the run and a summary, as text; or
// both as JSON, with everything that is needed to repeat the run. A GB is 10^9 bytes.
#pragma once

#include <string>
#include <vector>

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::perf {

struct Report {
  measure::Measurement result;
  double interval = 0;  ///< length of an interval in seconds; 0 if the user disabled intervals
  std::vector<measure::Interval> intervals;
  /// The server's address from the command line. Empty if the server is a local child process.
  std::string server;
  std::string date;          ///< start of the measurement, as ISO 8601 in UTC
  bool interrupted = false;  ///< whether a signal ended the measurement early
};

/// Returns one line that says what is going to be measured.
std::string head_text(const measure::Plan& plan);
std::string interval_text(const measure::Plan& plan, const measure::Interval& interval);
/// Returns the summary: the results, the counters of both ends, and the histogram.
std::string summary_text(const measure::Measurement& result);

/// Returns one JSON object. It contains rates, latencies and counters of both ends, in total and
/// per interval; the values of all options, including defaults; and the relevant properties of this
/// machine and of this program.
std::string report_json(const Report& report);

}  // namespace iwarp::apps::perf
