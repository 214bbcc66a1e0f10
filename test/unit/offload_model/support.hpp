// SPDX-License-Identifier: Apache-2.0
// Small parameter sets for tests: every cost is zero unless the test sets it.
#pragma once

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

/// Returns parameters with the sizes of a link of MTU 1500 without offloads. All costs are 0.
inline Parameters free_of_cost() {
  Parameters p{};
  p.clock = 1;
  p.link = 8;  // The link carries one octet per nanosecond.
  p.mss = 1448;
  p.gso = 1448;
  p.gro = 1448;
  p.frame_overhead = 90;
  p.call = 65536;
  p.packets_per_interrupt = 4;
  p.doorbell_batch = 1;
  p.page = 4096;
  p.toe_call = 16384;
  p.nic_rate = 8;
  p.memory_bus = 1000;
  return p;
}

inline Parameters preset_parameters(const char* name) { return preset(name).value().resolve(); }

}  // namespace iwarp::offload_model
