// SPDX-License-Identifier: Apache-2.0
// The ledger of a measured run: turns the counts of one end into processor time by component.
#pragma once

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::offload_model {

/// What was counted at one end of a run, which used sockets or this stack.
struct Observed {
  verbs::Counters counters;  ///< counters of this stack; in runs of sockets only octets and calls
  double segments_sent = 0;  ///< pieces handed to TCP
  double segments_received = 0;  ///< pieces that TCP returned
  double switches = 0;           ///< voluntary context switches
  double cpu_ns = 0;             ///< user and system time in nanoseconds
};

/// Returns into how many pieces, of at most `limit` octets, `calls` calls divide `octets` octets.
double segments_of(double octets, double calls, double limit);

/// Returns the processor time of this end according to the parameters.
Ledger account(const Parameters& p, const Observed& run);

}  // namespace iwarp::offload_model
