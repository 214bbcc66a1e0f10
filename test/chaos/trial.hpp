// SPDX-License-Identifier: Apache-2.0
// Runs one plan to its end, and shrinks a failing one.
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
  std::uint64_t undisturbed = 0;  ///< connections in which nothing prevented completion
  std::uint64_t completions = 0;
};

Outcome run(const Plan& plan, std::vector<std::string>* lines = nullptr);

/// Removes the steps, network faults and options that the violation does not need. Deterministic;
/// the number of runs is bounded.
Plan shrink(Plan plan, const std::string& rule);

}  // namespace iwarp::chaos
