// SPDX-License-Identifier: Apache-2.0
// The ways of moving one message that every table and picture compares. An RNIC is there twice, as
// registration decides about it: its buffers registered for each transfer, or once and for all.
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

/// All of them, and one more between the two RNICs if the question asks for something between.
std::vector<Way> ways(const Question& question);
model::Workload registered_each_time(model::Workload workload);
model::Workload registered_once(model::Workload workload);

/// What `way` reaches with the question's cores and the program's own work.
model::Throughput throughput_of(const Question& question, const model::Parameters& p,
                                const Way& way);

/// "always", "never", "from 12.3 KiB on", and where the uncertainties allow something else, the
/// sizes between which the crossover lies: "from 12.3 KiB on (8.0 KiB to 16.1 KiB)". Sizes are
/// rounded so that what the text says holds for each size outside of them.
std::string crossover_text(const model::UncertainCrossover& crossover);

/// From which size on an RNIC is better than `over`.
struct NamedCrossover {
  model::Mode over;
  std::string what;
  model::UncertainCrossover crossover;
};
/// All of them, over sockets and over a TOE, whatever the workload's own registration.
std::vector<NamedCrossover> all_crossovers(const Question& question);

}  // namespace iwarp::apps::cost
