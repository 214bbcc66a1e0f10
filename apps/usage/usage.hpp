// SPDX-License-Identifier: Apache-2.0
// What this process has used up so far: processor time, context switches, TCP segments. Linux only.
#pragma once

#include "iwarp/offload_model/live.hpp"

namespace iwarp::apps::usage {

using Observed = offload_model::Observed;

/// Without the counters of connections, which the caller knows.
Observed used_so_far();
/// `after` less `before`, counter by counter.
Observed difference(const Observed& after, const Observed& before);

/// By all TCP connections of this process so far, acknowledgements included.
double tcp_segments_sent();

}  // namespace iwarp::apps::usage
