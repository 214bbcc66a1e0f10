// SPDX-License-Identifier: Apache-2.0
// Stores the state at the end of the last interval, and the time at which the current interval
// ends.
#include "measure/basics/intervals.hpp"

namespace iwarp::apps::measure {

Intervals::Intervals(std::chrono::milliseconds every, Show show)
    : every_(every), show_(std::move(show)) {}

void Intervals::begin(Time now, std::chrono::milliseconds duration) {
  if (every_.count() <= 0) return;
  start_ = last_ = now;
  planned_end_ = now + duration;
  messages_ = 0;
  latency_ = {};
  schedule(now);
}

void Intervals::schedule(Time now) {
  next_ = start_ + ((now - start_) / every_ + 1) * every_;
  // If the time between the end of this interval and the end of the phase is shorter than half an
  // interval, let this interval last until the end of the phase.
  if (planned_end_ - next_ < every_ / 2) next_ = Time::max();
}

void Intervals::end_interval(Time now, std::uint64_t messages, const Histogram& latency) {
  show(now, messages, latency);
  schedule(now);
}

void Intervals::end(Time now, std::uint64_t messages, const Histogram& latency) {
  if (every_.count() <= 0) return;
  if (now > last_) show(now, messages, latency);
  next_ = Time::max();
}

void Intervals::show(Time now, std::uint64_t messages, const Histogram& latency) {
  const auto seconds = [this](Time time) {
    return std::chrono::duration<double>(time - start_).count();
  };
  const auto passed = latency - latency_;
  show_({.from = seconds(last_),
         .to = seconds(now),
         .messages = messages - messages_,
         .partial = (now - last_) * 10 < every_ * 9,
         .min = passed.percentile(0),
         .p50 = passed.percentile(0.5),
         .p99 = passed.percentile(0.99)});
  last_ = now;
  messages_ = messages;
  latency_ = latency;
}

}  // namespace iwarp::apps::measure
