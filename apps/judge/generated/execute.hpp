// SPDX-License-Identifier: Apache-2.0
// Runs a plan at two queue pairs, and compares each return value, completion, state, event and byte
// of memory with the model.
#pragma once

#include <optional>
#include <string>

#include "judge/frame/judge.hpp"
#include "judge/generated/plan.hpp"

namespace iwarp::judge::generated {

/// What the device did otherwise than the model.
struct Difference {
  std::string what;
  /// The line that the C program of this plan (program.hpp) prints if the device differs. If
  /// `is_missing`, instead the beginning of the line that it then does not print. Empty if no line
  /// shows the difference.
  std::string line;
  bool is_missing = false;
};

/// Runs the plan until its end or the first difference.
std::optional<Difference> execute(Judge& judge, const Plan& plan);

/// Returns a completion as the C program prints it.
std::string line_of(const ibv_wc& wc);

}  // namespace iwarp::judge::generated
