// SPDX-License-Identifier: Apache-2.0
// Converts the resources that one end of a run has used to JSON and back. The JSON has a member
// with the name of each counter of the stack, and the members segments_sent, segments_received,
// context_switches and cpu_ns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "usage/usage.hpp"

namespace iwarp::apps::usage {

nlohmann::json to_json(const Observed& observed);
/// Parses the JSON that to_json() returns. Throws nlohmann::json::exception if `json` does not have
/// this form.
Observed observed_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::usage
