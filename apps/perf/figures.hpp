// SPDX-License-Identifier: Apache-2.0
// Computes figures that the text form and the JSON form of the report have in common.
#pragma once

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::perf {

inline double per_second(double seconds, double amount) {
  return seconds > 0 ? amount / seconds : 0;
}

/// Returns the processor time that one end used per GB, in seconds.
inline double cpu_per_gb(const measure::Measurement& m, const measure::Observed& used) {
  return m.octets() > 0 ? used.cpu_ns / m.octets() : 0;
}

}  // namespace iwarp::apps::perf
