// SPDX-License-Identifier: Apache-2.0
// Figures of a report that both of its forms show.
#pragma once

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::perf {

inline double per_second(double seconds, double amount) {
  return seconds > 0 ? amount / seconds : 0;
}

/// Processor time of one end, in seconds.
inline double cpu_per_gb(const measure::Measurement& m, const measure::Observed& used) {
  return m.octets() > 0 ? used.cpu_ns / m.octets() : 0;
}

}  // namespace iwarp::apps::perf
