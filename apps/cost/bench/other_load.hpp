// SPDX-License-Identifier: Apache-2.0
// Determines whether the machine is idle enough for a measurement: from the kernel's accounting,
// computes the share of processor time that other programs used during the measurement. Linux only.
#pragma once

#include <sched.h>

#include <istream>
#include <optional>

namespace iwarp::apps::cost {

/// Time that some processors have spent since boot, in nanoseconds.
struct ProcessorTime {
  double used = 0;   ///< time used by programs and by other guests of the hypervisor
  double total = 0;  ///< time used, idle, or in interrupts, most of which our own traffic causes
};
/// Adds up the lines of `processors` in a text with the format of /proc/stat. Returns nullopt if it
/// contains none of them.
std::optional<ProcessorTime> processor_time(std::istream& stat, const cpu_set_t& processors);

/// Measures the load by other programs, beginning with the construction.
class OtherLoad {
 public:
  OtherLoad();
  /// Returns the share, 0 to 1, that other programs have used of those processors that this program
  /// may use. Returns nullopt if the kernel does not report it.
  std::optional<double> share() const;

 private:
  const std::optional<ProcessorTime> start_;
  const double own_at_start_;
};

/// Maximum share for a useful measurement; beyond it, the result depends more on the other programs
/// than on the machine.
inline constexpr double kQuietEnough = 0.1;

}  // namespace iwarp::apps::cost
