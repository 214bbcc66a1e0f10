// SPDX-License-Identifier: Apache-2.0
// Internal: constants, linear approximations of the costs, and the limit of the memory bus.
#pragma once

#include "iwarp/offload_model/cost.hpp"

namespace iwarp::offload_model {

inline constexpr double kBitsPerOctet = 8;
/// The largest message, in octets, at which a search for a crossover looks.
inline constexpr double kLargestMessage = 1 << 30;

/// Returns the rate, in Gb/s, at which a host can receive data if its memory bus carries `bus` GB/s
/// and each octet is copied `copies` times.
double memory_limit(double bus, double copies);

/// A linear approximation of a cost, which ignores the steps of the cost: a message of n octets
/// costs fixed + slope n.
struct Line {
  double fixed = 0;  ///< part that does not depend on the size, in ns
  double slope = 0;  ///< ns per octet
};
struct Lines {
  Line tx;
  Line rx;
};
Lines lines_of(Mode mode, const Parameters& p, Workload w);

}  // namespace iwarp::offload_model
