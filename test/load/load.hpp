// SPDX-License-Identifier: Apache-2.0
// Load: thousands of connections in one process, connections per second, and a soak. Each run
// prints a table. The exit status depends on correctness only (all data correct, memory and
// descriptors flat, everything released at the end), not on times.
#pragma once

#include <cstddef>

namespace iwarp::load {

struct Options {
  std::size_t connections = 10'000;
  std::size_t active = 1'000;
  double seconds = 10;
  std::size_t at_once = 256;  ///< connections that are set up at a time
  unsigned samples = 20;
  double pace = 0;  ///< maximum number of operations per second of the soak; 0 means no limit
};

/// Run one of the loads. Return the exit status. Throw if the run cannot continue.
int hold(const Options& options);
int rate(const Options& options);
int soak(const Options& options);

}  // namespace iwarp::load
