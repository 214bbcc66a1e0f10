// SPDX-License-Identifier: Apache-2.0
// Internal: constants, and the cost of framing.
#pragma once

#include "iwarp/offload_model/cost.hpp"

namespace iwarp::offload_model {

inline constexpr double kBitsPerOctet = 8;
/// The largest message, in octets, at which a search for a crossover looks.
inline constexpr double kLargestMessage = 1 << 30;

/// Returns what software iWARP costs in addition to system calls and TCP: the passes over payload,
/// FPDUs and markers at both ends, and the request. Costs and latencies both contain it.
Cost framing_cost(const Parameters& p, const Workload& w);

}  // namespace iwarp::offload_model
