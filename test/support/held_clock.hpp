// SPDX-License-Identifier: Apache-2.0
// Holds this process's steady clock back, so that a test which races against a time limit cannot
// lose on a busy machine. Link held_clock.cpp, which stands in front of the C library's
// clock_gettime().
#pragma once

#include <chrono>

namespace iwarp::test {

/// While it lives, CLOCK_MONOTONIC moves by at most `most` and then stands still; afterwards it
/// goes on from there. Timers of the kernel are not held, so a thread may wake early and wait
/// again. One at a time in a process.
class HeldClock {
 public:
  explicit HeldClock(std::chrono::nanoseconds most = {});
  ~HeldClock();
  HeldClock(const HeldClock&) = delete;
  HeldClock& operator=(const HeldClock&) = delete;
};

}  // namespace iwarp::test
