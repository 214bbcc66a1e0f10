// SPDX-License-Identifier: Apache-2.0
// The counters of a connection by name, as reports, records and metrics have them.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/verbs/counters.hpp"

namespace iwarp::verbs {

/// One counter: the name of its member, and what it counts. The strings are static.
struct CounterName {
  const char* name;
  std::uint64_t Counters::* member;
  const char* meaning;  ///< a few words for a table or a help text
};
/// Returns a row for each member of Counters.
std::span<const CounterName> counter_names();

}  // namespace iwarp::verbs
