// SPDX-License-Identifier: Apache-2.0
// Load: thousands of connections in one process, connections by the second, and a soak. Each run
// prints a table; what has to hold (all octets right, memory and descriptors flat, everything given
// back at the end) decides the exit status, times do not.
#pragma once

#include <cstddef>

namespace iwarp::load {

struct Options {
  std::size_t connections = 10'000;
  std::size_t active = 1'000;
  double seconds = 10;
  std::size_t at_once = 256;  ///< connects under way
  unsigned samples = 20;
  double pace = 0;  ///< operations a second of the soak at most; 0: as many as it can
};

/// The exit status. Throws where it cannot go on.
int hold(const Options& options);
int rate(const Options& options);
int soak(const Options& options);

}  // namespace iwarp::load
