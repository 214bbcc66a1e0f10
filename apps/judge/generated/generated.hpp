// SPDX-License-Identifier: Apache-2.0
// Runs generated sequences of calls, each in a process of its own, and shrinks the first one that
// differs from the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/frame/run.hpp"
#include "judge/generated/execute.hpp"

namespace iwarp::judge::generated {

struct Choice {
  std::uint64_t first = 1;
  std::uint64_t last = 300;
  std::vector<std::string> only;  ///< prefixes of the ids of the errors; empty means all
  bool as_roce = false;
};

/// Parses "FIRST..LAST", or "SEED" for a single one. An empty text means the default.
std::optional<Choice> parse_seeds(std::string_view text);

/// The shortest sequence that was found, and how the device differs.
struct Finding {
  Plan plan;
  Difference difference;
};

/// Runs the sequences and adds an entry for each kind of error to `report`. Stops at the first
/// difference, shrinks its plan and returns it.
std::optional<Finding> run(const Choice& choice, const Target& target,
                           apps::report::Report& report);

/// Returns the ids of the kinds of errors, "generated/no-receive" for example.
std::vector<apps::report::Entry> kinds(const Choice& choice);

}  // namespace iwarp::judge::generated
