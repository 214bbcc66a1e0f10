// SPDX-License-Identifier: Apache-2.0
// The ways to transfer one message that every table and chart compares. There are two ways with an
// RNIC: buffers that are registered for each transfer, and buffers that are registered once. They
// are separate because registration dominates the RNIC's cost.
#pragma once

#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::apps::cost {

struct Way {
  std::string name;    ///< for example "kernel sockets", "RNIC, each time" or "RNIC, once"
  std::string letter;  ///< abbreviation of `name` in tables: "a" to "d", "d*" or "d'"
  model::Mode mode;
  model::Workload workload;
};

inline constexpr const char* kEachTime = "RNIC, each time";
inline constexpr const char* kAsAsked = "RNIC, --reuse";
inline constexpr const char* kOnce = "RNIC, once";

/// Returns all ways. If the workload reuses each registration for several transfers, the list also
/// contains, between kEachTime and kOnce, the way kAsAsked, which reuses registrations as the
/// workload does.
std::vector<Way> ways(const Question& question);
model::Workload registered_each_time(model::Workload workload);
model::Workload registered_once(model::Workload workload);

/// Returns the throughput of `way` with the question's number of cores, including the work of the
/// application.
model::Throughput throughput_of(const Question& question, const model::Parameters& p,
                                const Way& way);

/// Returns "always", "never" or "from 12.3 KiB on". If the crossover is uncertain, appends the
/// range of sizes that may be the crossover: "from 12.3 KiB on (8.0 KiB to 16.1 KiB)". The range is
/// rounded outwards, so the text is true for every size outside of it.
std::string crossover_text(const model::UncertainCrossover& crossover);

/// The size from which an RNIC is cheaper than `over`.
struct NamedCrossover {
  model::Mode over;
  std::string what;
  model::UncertainCrossover crossover;
};
/// Returns the sizes from which an RNIC is cheaper than sockets and than a TOE, for every kind of
/// registration, and not only for the kind that the workload uses.
std::vector<NamedCrossover> all_crossovers(const Question& question);

}  // namespace iwarp::apps::cost
