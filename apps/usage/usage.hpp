// SPDX-License-Identifier: Apache-2.0
// Reads the resources that this process has used so far: processor time, context switches, TCP
// segments. Linux only. Converts them to JSON and back. The JSON has a member with the name of each
// counter of the stack, and the members segments_sent, segments_received, context_switches and
// cpu_ns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::usage {

using Observed = offload_model::Observed;

/// Returns user and system time in ns of `who`, for example RUSAGE_CHILDREN (getrusage(2)).
double processor_ns(int who);
/// Returns the usage so far, with the counters of the caller's connections.
Observed used_so_far(const verbs::Counters& counters);
/// Returns `after` minus `before`, counter by counter.
Observed difference(const Observed& after, const Observed& before);

nlohmann::json to_json(const Observed& observed);
/// Parses the JSON that to_json() returns. Throws nlohmann::json::exception if `json` does not have
/// this form.
Observed observed_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::usage
