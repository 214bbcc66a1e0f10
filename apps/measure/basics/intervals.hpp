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
  /// for `every`; zero means no intervals. The call happens between two messages, so `show` should
  /// return quickly.
  Intervals(std::chrono::milliseconds every, Show show) : every_(every), show_(std::move(show)) {}

  /// Begins a phase that is planned to last for `duration`.
  void begin(Time now, std::chrono::milliseconds duration) {
    if (every_.count() <= 0) return;
    start_ = last_ = now;
    planned_end_ = now + duration;
    messages_ = 0;
    latency_ = {};
    schedule(now);
  }

  bool due(Time now) const { return now >= next_; }

  /// Ends an interval and reports it. `messages` and `latency` are totals since begin(). A late
  /// call still ends only one interval, which is then longer than the others.
  void end_interval(Time now, std::uint64_t messages, const Histogram& latency) {
    const auto passed = latency - latency_;
    show_({.from = std::chrono::duration<double>(last_ - start_).count(),
           .to = std::chrono::duration<double>(now - start_).count(),
           .messages = messages - messages_,
           .partial = (now - last_) * 10 < every_ * 9,
           .min = passed.percentile(0),
           .p50 = passed.percentile(0.5),
           .p99 = passed.percentile(0.99)});
    last_ = now;
    messages_ = messages;
    latency_ = latency;
    schedule(now);
  }

  /// Ends the phase and reports the last interval. If the phase ended as planned, the last interval
  /// is at least half as long as the others, because a shorter remainder belongs to the previous
  /// interval.
  void end(Time now, std::uint64_t messages, const Histogram& latency) {
    if (every_.count() > 0 && now > last_) end_interval(now, messages, latency);
    next_ = Time::max();
  }

 private:
  void schedule(Time now) {
    next_ = start_ + ((now - start_) / every_ + 1) * every_;
    // If the time between the end of this interval and the end of the phase is shorter than half an
    // interval, let this interval last until the end of the phase.
    if (planned_end_ - next_ < every_ / 2) next_ = Time::max();
  }

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
