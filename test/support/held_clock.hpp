// SPDX-License-Identifier: Apache-2.0
// Holds this process's steady clock back, so that a test that races against a timeout cannot lose
// on a busy machine. Link held_clock.cpp, which replaces the C library's clock_gettime().
#pragma once

#include <chrono>

namespace iwarp::test {

/// While a HeldClock exists, CLOCK_MONOTONIC advances by at most `most` and then stands still. When
/// the object is destroyed, the clock continues from the time that it shows. Kernel timers still
/// follow the real clock, so a thread may wake up early and wait again. A process may have only one
/// HeldClock at a time.
class HeldClock {
 public:
  explicit HeldClock(std::chrono::nanoseconds most = {});
  ~HeldClock();
  HeldClock(const HeldClock&) = delete;
  HeldClock& operator=(const HeldClock&) = delete;
};

}  // namespace iwarp::test
