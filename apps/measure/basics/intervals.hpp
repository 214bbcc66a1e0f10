// SPDX-License-Identifier: Apache-2.0
// Intervals: reports the messages of each interval of a phase. On the data path, Intervals costs
// one comparison with a time that the caller has read anyway. The figures of an interval are the
// difference of two states, so no message is counted twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "measure/basics/histogram.hpp"

namespace iwarp::apps::measure {

/// The figures of one interval.
struct Interval {
  double from = 0;  ///< beginning of the interval, in seconds since begin()
  double to = 0;
  std::uint64_t messages = 0;
  bool partial = false;           ///< whether this last interval is shorter than the others
  Histogram::Nanoseconds min{0};  ///< shortest latency in the interval
  Histogram::Nanoseconds p50{0};
  Histogram::Nanoseconds p99{0};
};

class Intervals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Show = std::function<void(const Interval&)>;

  /// Creates an Intervals object that reports nothing.
  Intervals() = default;
  /// Creates an Intervals object that calls `show` at the end of each interval. An interval lasts
  /// for `every`, which must be positive. The call happens between two messages, so `show` should
  /// return quickly.
  Intervals(std::chrono::milliseconds every, Show show);

  /// Begins a phase that is planned to last for `duration`.
  void begin(Time now, std::chrono::milliseconds duration);
  bool due(Time now) const { return now >= next_; }
  /// Ends an interval and reports it. `messages` and `latency` are totals since begin(). A late
  /// call still ends only one interval, which is then longer than the others.
  void end_interval(Time now, std::uint64_t messages, const Histogram& latency);
  /// Ends the phase and reports the last interval. If the phase ended as planned, the last interval
  /// is at least half as long as the others, because a shorter remainder belongs to the previous
  /// interval.
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
