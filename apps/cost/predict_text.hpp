// SPDX-License-Identifier: Apache-2.0
// The answer as text: one screen, tables of numbers with their bands, and the verdict in words.
#pragma once

#include <string>

#include "cost/question.hpp"

namespace iwarp::apps::cost {

/// Lines, each ending with a newline.
std::string prediction_text(const Question& question);

/// "always", "never", "from 12.3 KiB on".
std::string crossover_text(const model::Crossover& crossover);

/// "64.0 KiB, registered for each transfer, ..."
std::string workload_text(const model::Workload& workload);

/// One named crossover.
struct NamedCrossover {
  std::string what;
  model::Crossover crossover;
};
/// All of them, whatever the workload's own registration.
std::vector<NamedCrossover> all_crossovers(const Question& question);

/// What going from sockets to `mode` brings, in words: processors saved at the rate, then LAWS.
std::string verdict_text(const Question& question, model::Mode mode);

}  // namespace iwarp::apps::cost
