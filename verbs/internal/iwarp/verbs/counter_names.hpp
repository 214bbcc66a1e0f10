// SPDX-License-Identifier: Apache-2.0
// The names of a connection's counters in reports, records and metrics.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/verbs/counters.hpp"

namespace iwarp::verbs {

/// One counter: its name, its member, and what it counts. The strings are static.
struct CounterName {
  const char* name;
  std::uint64_t Counters::* member;
  const char* meaning;  ///< description in a few words, for a table or a help text
};
/// Returns a row for each member of Counters.
std::span<const CounterName> counter_names();

}  // namespace iwarp::verbs
