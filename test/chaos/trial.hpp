// SPDX-License-Identifier: Apache-2.0
// Runs one plan to its end, and shrinks a failing plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/plan.hpp"
#include "violation.hpp"

namespace iwarp::chaos {

struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t connections = 0;
  std::uint64_t undisturbed = 0;  ///< number of connections that had no cause to end abruptly
  std::uint64_t completions = 0;
};

Outcome run(const Plan& plan, std::vector<std::string>* lines = nullptr);

/// Removes the steps, network faults and options that are not needed for the violation. The result
/// is deterministic, and the number of runs is limited.
Plan shrink(Plan plan, const std::string& rule);

}  // namespace iwarp::chaos
