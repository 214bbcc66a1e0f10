// SPDX-License-Identifier: Apache-2.0
// The counters of a connection by name, as reports, records and metrics have them.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/verbs/counters.hpp"

namespace iwarp::verbs {

struct CounterName {
  const char* name;
  std::uint64_t Counters::* member;
  const char* meaning;  ///< for people, a few words
};
/// All of them.
std::span<const CounterName> counter_names();

}  // namespace iwarp::verbs
