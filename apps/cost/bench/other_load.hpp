// SPDX-License-Identifier: Apache-2.0
// Whether the machine was idle enough for a measurement: the share of processor time that other
// programs used meanwhile, from the kernel's accounting. Linux only.
#pragma once

#include <sched.h>

#include <istream>
#include <optional>

namespace iwarp::apps::cost {

/// Time of some processors since boot, in nanoseconds.
struct ProcessorTime {
  double used = 0;   ///< by programs, and by other guests of the hypervisor
  double total = 0;  ///< used, idle, and interrupts, most of which our own traffic causes
};
/// Adds up the lines of `processors` in a text like /proc/stat. Returns nullopt if it has none.
std::optional<ProcessorTime> processor_time(std::istream& stat, const cpu_set_t& processors);

/// Measures from construction.
class OtherLoad {
 public:
  OtherLoad();
  /// Returns the share, 0 to 1, that other programs used of the processors that this program may
  /// use. Returns nullopt if the kernel does not report it.
  std::optional<double> share() const;

 private:
  const std::optional<ProcessorTime> start_;
  const double own_at_start_;
};

/// Above this share, a measurement says more about the other programs than about the machine.
inline constexpr double kQuietEnough = 0.1;

}  // namespace iwarp::apps::cost
