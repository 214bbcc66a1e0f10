// SPDX-License-Identifier: Apache-2.0
// Holds this process's steady clock back, so that a test that races against a timeout cannot lose
// on a busy machine. Link held_clock.cpp, which replaces the C library's clock_gettime().
#pragma once

#include <chrono>

namespace iwarp::test {

/// While an object exists, CLOCK_MONOTONIC advances by at most `most` and then stands still;
/// afterwards it continues from there. Kernel timers are not held, so a thread may wake up early
/// and wait again. A process may have only one such object at a time.
class HeldClock {
 public:
  explicit HeldClock(std::chrono::nanoseconds most = {});
  ~HeldClock();
  HeldClock(const HeldClock&) = delete;
  HeldClock& operator=(const HeldClock&) = delete;
};

}  // namespace iwarp::test
