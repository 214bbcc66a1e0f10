// SPDX-License-Identifier: Apache-2.0
// Writes a plan as a C program of its own, for a bug report.
#pragma once

#include <string>

#include "judge/generated/generated.hpp"

namespace iwarp::judge::generated {

/// Returns a C program that needs only libibverbs. It makes the calls of the plan on the device
/// that its first argument names, prints what they return and what completes, and exits with status
/// 1 if it sees the difference.
std::string c_program(const Finding& finding);

}  // namespace iwarp::judge::generated
