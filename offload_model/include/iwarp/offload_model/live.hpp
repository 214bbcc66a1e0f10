// SPDX-License-Identifier: Apache-2.0
// The ledger of a run that has happened: from what was counted at one end to processor time by
// component. Takes numbers only; whoever ran it has counted them.
#pragma once

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::offload_model {

/// One end of a run, of sockets or of this stack.
struct Observed {
  verbs::Counters counters;      ///< sockets: octets and calls only
  double segments_sent = 0;      ///< pieces handed to TCP
  double segments_received = 0;  ///< pieces that came from TCP
  double switches = 0;           ///< voluntary context switches
  double cpu_ns = 0;             ///< user and system time
};

/// Pieces of at most `limit` octets that `octets` in `calls` make.
double segments_of(double octets, double calls, double limit);

/// What this end should have cost by these parameters.
Ledger account(const Parameters& p, const Observed& run);

}  // namespace iwarp::offload_model
