// SPDX-License-Identifier: Apache-2.0
// Small parameter sets for tests: every cost is zero unless the test sets it.
#pragma once

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

/// Returns parameters with the sizes of a link of MTU 1500 without offloads. All costs are 0.
inline Parameters free_of_cost() {
  return {.clock = 1,
          .link = 8,  // The link carries one octet per nanosecond.
          .mss = 1448,
          .gso = 1448,
          .gro = 1448,
          .frame_overhead = 90,
          .call = 65536,
          .packets_per_interrupt = 4,
          .doorbell_batch = 1,
          .page = 4096,
          .toe_call = 16384,
          .nic_rate = 8,
          .memory_bus = 1000};
}

/// Returns free_of_cost() with those values of `set` that are not 0.
inline Parameters only(const Parameters& set) {
  auto out = free_of_cost();
  for (const auto& field : fields()) {
    if (set.*field.member != 0) out.*field.member = set.*field.member;
  }
  return out;
}

inline Parameters preset_parameters(const char* name) { return preset(name).value().resolve(); }

}  // namespace iwarp::offload_model
