// SPDX-License-Identifier: Apache-2.0
// Intervals: reports what passed in each second or so while a phase runs. Costs the data path one
// comparison with a time that it has read anyway; what an interval took is the difference of two
// states, so nothing is counted twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "measure/basics/histogram.hpp"

namespace iwarp::apps::measure {

/// A part of the time that counts.
struct Interval {
  double from = 0;  ///< seconds
  double to = 0;
  std::uint64_t messages = 0;
  bool partial = false;           ///< the last one, and shorter than the others
  Histogram::Nanoseconds min{0};  ///< of their latencies
  Histogram::Nanoseconds p50{0};
  Histogram::Nanoseconds p99{0};
};

class Intervals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Show = std::function<void(const Interval&)>;

  /// None is ever due.
  Intervals() = default;
  /// `every` is more than nothing. `show` is called between two messages: it had better be quick.
  Intervals(std::chrono::milliseconds every, Show show);

  /// A phase that is to last for `duration` begins.
  void begin(Time now, std::chrono::milliseconds duration);
  bool due(Time now) const { return now >= next_; }
  /// `messages` and `latency` since begin(). Called late, it is one interval, as long as it was.
  void end_interval(Time now, std::uint64_t messages, const Histogram& latency);
  /// The phase is over: shows the rest. Where it ends as planned, the last interval is at least
  /// half as long as the others, since a shorter rest goes to the one before it.
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
