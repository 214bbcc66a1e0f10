// SPDX-License-Identifier: Apache-2.0
// Describes a plan in words.
#pragma once

#include <string>

#include "plan.hpp"

namespace iwarp::chaos {

std::string describe(const Step& step);
/// Returns one line about the plan, and several lines about each connection that its links may use.
std::string describe(const Plan& plan);

}  // namespace iwarp::chaos
