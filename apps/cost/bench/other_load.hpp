// SPDX-License-Identifier: Apache-2.0
// Checks whether the machine is idle enough for a measurement: computes, from the kernel's
// accounting, the share of processor time that other programs used during the measurement. Linux
// only.
#pragma once

#include <sched.h>

#include <istream>
#include <optional>

namespace iwarp::apps::cost {

/// The time that a set of processors has spent since boot, in nanoseconds. `used` does not include
/// interrupts, because the measured traffic itself causes most of them.
struct ProcessorTime {
  double used = 0;   ///< time used by programs and by other guests of the hypervisor
  double total = 0;  ///< all time, including idle time and interrupts
};
/// Adds up the times of `processors` from a text in the format of /proc/stat. Returns nullopt if
/// the text has no line for any of these processors.
std::optional<ProcessorTime> processor_time(std::istream& stat, const cpu_set_t& processors);

/// Measures the load that other programs have caused since this object was constructed.
class OtherLoad {
 public:
  OtherLoad();
  /// Returns the share of processor time, from 0 to 1, that other programs have used. Includes only
  /// the processors that this program may use. Returns nullopt if the kernel does not report the
  /// times.
  std::optional<double> share() const;

 private:
  const std::optional<ProcessorTime> start_;
  const double own_at_start_;
};

/// Maximum share of processor time that other programs may use during a useful measurement. Beyond
/// this share, the result depends more on the other programs than on the machine.
inline constexpr double kQuietEnough = 0.1;

}  // namespace iwarp::apps::cost
