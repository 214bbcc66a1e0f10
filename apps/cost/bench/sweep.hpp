// SPDX-License-Identifier: Apache-2.0
// The socket runs to which calibrate and validate fit the model.
#pragma once

#include "cost/bench/measure.hpp"

namespace iwarp::apps::cost {

/// Returns runs of several sizes. Some use small receive calls, by which the fit distinguishes the
/// cost of a call from the cost of a byte.
std::vector<Job> sweep(double seconds, const std::string& cpus);

}  // namespace iwarp::apps::cost
