// SPDX-License-Identifier: Apache-2.0
// Reads the resources that this process has used so far: processor time, context switches, TCP
// segments. Linux only.
#pragma once

#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::usage {

using Observed = offload_model::Observed;

/// Returns user and system time in ns of `who`, for example RUSAGE_CHILDREN (getrusage(2)).
double processor_ns(int who);
/// Returns the usage so far. The caller must add the counters of its connections.
Observed used_so_far();
/// Returns `after` minus `before`, counter by counter.
Observed difference(const Observed& after, const Observed& before);

/// Returns the total number of segments that the open TCP connections of this process have sent,
/// including acknowledgements.
double tcp_segments_sent();

}  // namespace iwarp::apps::usage
