// SPDX-License-Identifier: Apache-2.0
// The ways of moving one message that every table and chart compares. An RNIC appears twice,
// because registration decides its cost: with buffers registered for each transfer, and registered
// once.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::apps::cost {

struct Way {
  std::string name;    ///< "kernel sockets" ... "RNIC, each time", "RNIC, once"
  std::string letter;  ///< "a" to "d", "d'"
  model::Mode mode;
  model::Workload workload;
};

inline constexpr const char* kEachTime = "RNIC, each time";
inline constexpr const char* kAsAsked = "RNIC, as asked";
inline constexpr const char* kOnce = "RNIC, once";

/// Returns all ways, and one more between the two RNICs if the workload's registration lies between
/// theirs.
std::vector<Way> ways(const Question& question);
model::Workload registered_each_time(model::Workload workload);
model::Workload registered_once(model::Workload workload);

/// Returns the throughput of `way` with the question's cores and the application's own work.
model::Throughput throughput_of(const Question& question, const model::Parameters& p,
                                const Way& way);

/// Returns "always", "never" or "from 12.3 KiB on". If the uncertainties allow a range, appends the
/// sizes between which the crossover lies: "from 12.3 KiB on (8.0 KiB to 16.1 KiB)". Sizes are
/// rounded so that the text holds for every size outside of the range.
std::string crossover_text(const model::UncertainCrossover& crossover);

/// The size from which an RNIC beats `over`.
struct NamedCrossover {
  model::Mode over;
  std::string what;
  model::UncertainCrossover crossover;
};
/// Returns all crossovers, over sockets and over a TOE, for every registration and not only the
/// workload's.
std::vector<NamedCrossover> all_crossovers(const Question& question);

}  // namespace iwarp::apps::cost
