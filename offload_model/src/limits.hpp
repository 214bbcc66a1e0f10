// SPDX-License-Identifier: Apache-2.0
// Internal: constants, linear approximations of the costs, and the cost of framing.
#pragma once

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/offload_model/pcie.hpp"

namespace iwarp::offload_model {

inline constexpr double kBitsPerOctet = 8;
/// The largest message, in octets, at which a search for a crossover looks.
inline constexpr double kLargestMessage = 1 << 30;

/// Returns what software iWARP costs in addition to system calls and TCP: the passes over payload,
/// FPDUs and markers at both ends, and the request. Costs and latencies both contain it.
Cost framing_cost(const Parameters& p, const Workload& w);

/// Returns the link between the hosts and their cards. It has no lanes if the bus is not modelled.
inline PcieLink pcie_of(const Parameters& p) {
  return {.generation = p.pcie_generation, .lanes = p.pcie_lanes};
}

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
