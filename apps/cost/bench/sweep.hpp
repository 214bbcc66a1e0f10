// SPDX-License-Identifier: Apache-2.0
// The runs of sockets that calibrate and validate fit to.
#pragma once

#include "cost/bench/measure.hpp"

namespace iwarp::apps::cost {

/// Sizes, and small receive calls, or nobody could tell what a call costs.
std::vector<Job> sweep(double seconds, const std::string& cpus);

}  // namespace iwarp::apps::cost
