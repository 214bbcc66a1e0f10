// SPDX-License-Identifier: Apache-2.0
// The socket runs to which `iwarp cost calibrate` and `validate` fit the model.
#pragma once

#include "cost/bench/measure.hpp"

namespace iwarp::apps::cost {

/// Returns jobs with several message sizes. Some jobs use small receive calls, which let the fit
/// distinguish the cost of a call from the cost of a byte.
std::vector<Job> sweep(double seconds, const std::string& cpus);

}  // namespace iwarp::apps::cost
