// SPDX-License-Identifier: Apache-2.0
// Converts the resources that one end of a run used to and from JSON: every counter by its name,
// segments_sent, segments_received, context_switches and cpu_ns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "usage/usage.hpp"

namespace iwarp::apps::usage {

nlohmann::json to_json(const Observed& observed);
/// Reverses to_json(). Throws nlohmann::json::exception if `json` has another form.
Observed observed_from_json(const nlohmann::json& json);

}  // namespace iwarp::apps::usage
