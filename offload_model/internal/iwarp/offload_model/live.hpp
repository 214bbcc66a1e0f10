// SPDX-License-Identifier: Apache-2.0
// Turns the counters of one end of a measured run into processor time by component.
#pragma once

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::offload_model {

/// The counters of one end of a run, which used sockets or this stack.
struct Observed {
  /// Counters of this stack; a run of sockets sets only octets and calls.
  verbs::Counters counters;
  double segments_sent = 0;      ///< segments that TCP sent
  double segments_received = 0;  ///< pieces that TCP got from the network driver
  double switches = 0;           ///< voluntary context switches
  double cpu_ns = 0;             ///< user and system time in nanoseconds
};

/// Returns the number of pieces that TCP and the network driver exchange if a program sends or
/// receives `octets` octets in `calls` calls, and each piece has at most `limit` octets.
double segments_of(double octets, double calls, double limit);

/// Returns the processor time of the end that `run` describes, according to the parameters.
Ledger account(const Parameters& p, const Observed& run);

}  // namespace iwarp::offload_model
