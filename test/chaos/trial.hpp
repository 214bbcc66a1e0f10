// SPDX-License-Identifier: Apache-2.0
// One plan run to its end, and a failing one made small.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan.hpp"
#include "violation.hpp"

namespace iwarp::chaos {

struct Outcome {
  std::optional<Violation> violation;
  std::uint64_t connections = 0;
  std::uint64_t undisturbed = 0;  ///< of them: nothing might keep them from completing all
  std::uint64_t completions = 0;
};

Outcome run(const Plan& plan, std::vector<std::string>* lines = nullptr);

/// Without the steps, links' faults and choices that the violation does not need. Deterministic,
/// and bounded in runs.
Plan shrink(Plan plan, const std::string& rule);

}  // namespace iwarp::chaos
