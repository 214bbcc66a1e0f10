// SPDX-License-Identifier: Apache-2.0
// Whether a machine was quiet enough for what was measured on it: the share of processor time that
// other programs used meanwhile, by the kernel's account. Linux only.
#pragma once

#include <sched.h>

#include <istream>
#include <optional>

namespace iwarp::apps::cost {

/// Of some processors since the machine started, in nanoseconds.
struct ProcessorTime {
  double used = 0;   ///< by programs, and by other guests of a virtual machine's host
  double total = 0;  ///< used, idle, and interrupts, of which our own traffic makes most
};
/// Adds up the lines of `processors` in a text like /proc/stat. nullopt: there are none.
std::optional<ProcessorTime> processor_time(std::istream& stat, const cpu_set_t& processors);

/// Measures from its construction on.
class OtherLoad {
 public:
  OtherLoad();
  /// The share of the processors that this program may use which others have used, 0 to 1.
  /// nullopt: the kernel does not say.
  std::optional<double> share() const;

 private:
  const std::optional<ProcessorTime> start_;
  const double own_at_start_;
};

/// Above this share, what is measured says more about the other programs than about the machine.
inline constexpr double kQuietEnough = 0.1;

}  // namespace iwarp::apps::cost
