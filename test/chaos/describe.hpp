// SPDX-License-Identifier: Apache-2.0
// A plan in words.
#pragma once

#include <string>

#include "plan.hpp"

namespace iwarp::chaos {

std::string describe(const Step& step);
/// One line for the plan, and some for each connection that the links in use may have.
std::string describe(const Plan& plan);

}  // namespace iwarp::chaos
