// SPDX-License-Identifier: Apache-2.0
// The socket runs that calibrate and validate fit the model to.
#pragma once

#include "cost/bench/measure.hpp"

namespace iwarp::apps::cost {

/// Returns runs of several sizes, some with small receive calls, which the fit needs to tell the
/// cost of a call from the cost of a byte.
std::vector<Job> sweep(double seconds, const std::string& cpus);

}  // namespace iwarp::apps::cost
