// SPDX-License-Identifier: Apache-2.0
// Intervals: reports the messages of each interval while a phase runs. The data path pays for one
// comparison with a time that it has read anyway. An interval is the difference of two states, so
// no message is counted twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "measure/basics/histogram.hpp"

namespace iwarp::apps::measure {

/// A part of the measured time.
struct Interval {
  double from = 0;  ///< seconds
  double to = 0;
  std::uint64_t messages = 0;
  bool partial = false;           ///< the last one, and shorter than the others
  Histogram::Nanoseconds min{0};  ///< of the latencies in the interval
  Histogram::Nanoseconds p50{0};
  Histogram::Nanoseconds p99{0};
};

class Intervals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Show = std::function<void(const Interval&)>;

  /// Creates an object without intervals.
  Intervals() = default;
  /// `every` must be positive. `show` is called between two messages and should return quickly.
  Intervals(std::chrono::milliseconds every, Show show);

  /// Begins a phase that is planned to last for `duration`.
  void begin(Time now, std::chrono::milliseconds duration);
  bool due(Time now) const { return now >= next_; }
  /// Ends an interval. `messages` and `latency` count from begin(). If the call is late, it still
  /// ends only one interval, which is as long as it took.
  void end_interval(Time now, std::uint64_t messages, const Histogram& latency);
  /// Ends the phase and reports the remainder. If the phase ended as planned, the last interval is
  /// at least half as long as the others, because a shorter remainder is merged into the interval
  /// before.
  void end(Time now, std::uint64_t messages, const Histogram& latency);

 private:
  void show(Time now, std::uint64_t messages, const Histogram& latency);
  void schedule(Time now);

  std::chrono::milliseconds every_{0};
  Show show_;
  Time start_;
  Time planned_end_;
  Time last_;
  Time next_ = Time::max();
  std::uint64_t messages_ = 0;
  Histogram latency_;
};

}  // namespace iwarp::apps::measure
