// SPDX-License-Identifier: Apache-2.0
// The counters of a connection by name, as reports and records have them.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/verbs/counters.hpp"

namespace iwarp::apps {

struct CounterName {
  const char* name;
  std::uint64_t verbs::Counters::* member;
};
/// All of them.
std::span<const CounterName> counter_names();

}  // namespace iwarp::apps
