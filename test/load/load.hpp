// SPDX-License-Identifier: Apache-2.0
// The load tests: thousands of connections in one process, connections per second, and a soak. Each
// run prints a table. The exit status depends only on correctness and not on times: all data must
// be correct, memory and descriptors must not grow, and everything must be released at the end.
#pragma once

#include <cstddef>

namespace iwarp::load {

struct Options {
  std::size_t connections = 10'000;
  std::size_t active = 1'000;
  double seconds = 10;
  double limit = 0;  ///< maximum memory of an idle connection at either end, in KiB; 0 means none
  std::size_t at_once = 256;  ///< maximum number of connections that are being set up
  unsigned samples = 20;
  double pace = 0;  ///< maximum number of operations per second of the soak; 0 means no limit
};

/// Runs one of the load tests. Returns the exit status. Throws if the run cannot continue.
int hold(const Options& options);
int rate(const Options& options);
int soak(const Options& options);

}  // namespace iwarp::load
