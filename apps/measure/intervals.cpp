// SPDX-License-Identifier: Apache-2.0
// The state at the last boundary, and the next boundary.
#include "measure/intervals.hpp"

namespace iwarp::apps::measure {

Intervals::Intervals(std::chrono::milliseconds every, Show show)
    : every_(every), show_(std::move(show)) {}

void Intervals::begin(Time now) {
  if (every_.count() <= 0) return;
  start_ = last_ = now;
  next_ = now + every_;
  messages_ = 0;
  latency_ = {};
}

void Intervals::end_interval(Time now, std::uint64_t messages, const Histogram& latency) {
  show(now, messages, latency);
  next_ = start_ + ((now - start_) / every_ + 1) * every_;
}

void Intervals::end(Time now, std::uint64_t messages, const Histogram& latency) {
  if (every_.count() <= 0) return;
  if (now - last_ >= every_ / 100) show(now, messages, latency);
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
         .p50 = passed.percentile(0.5),
         .p99 = passed.percentile(0.99)});
  last_ = now;
  messages_ = messages;
  latency_ = latency;
}

}  // namespace iwarp::apps::measure
