// SPDX-License-Identifier: Apache-2.0
// The held clock shows the kernel's time minus the total time for which it has stood still, and
// never more than the time at which it has to stop.
#include "held_clock.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::atomic<std::int64_t> behind{0};
std::atomic<std::int64_t> last{INT64_MAX};

std::int64_t held(const timespec& now) {
  return std::min(now.tv_sec * kSecond + now.tv_nsec - behind.load(), last.load());
}

}  // namespace

// Overrides the function of the C library.
extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const auto result = ::syscall(SYS_clock_gettime, clock, out);
  if (result != 0 || clock != CLOCK_MONOTONIC) return static_cast<int>(result);
  const auto now = held(*out);
  *out = {.tv_sec = now / kSecond, .tv_nsec = now % kSecond};
  return 0;
}

namespace iwarp::test {

HeldClock::HeldClock(std::chrono::nanoseconds most) {
  last = (std::chrono::steady_clock::now().time_since_epoch() + most).count();
}

HeldClock::~HeldClock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  timespec real{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &real);
  // `behind` is set before `last`, so that the clock never runs backwards.
  behind = real.tv_sec * kSecond + real.tv_nsec - now;
  last = INT64_MAX;
}

}  // namespace iwarp::test
