// SPDX-License-Identifier: Apache-2.0
// Reads the resources that this process has used so far: processor time, context switches, TCP
// segments. Only available on Linux.
#pragma once

#include "iwarp/offload_model/live.hpp"

namespace iwarp::apps::usage {

using Observed = offload_model::Observed;

/// Returns the usage so far. The caller has to add the counters of its connections.
Observed used_so_far();
/// Returns `after` minus `before`, counter by counter.
Observed difference(const Observed& after, const Observed& before);

/// Returns how many segments all TCP connections of this process have sent, including
/// acknowledgements.
double tcp_segments_sent();

}  // namespace iwarp::apps::usage
