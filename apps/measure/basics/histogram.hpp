// SPDX-License-Identifier: Apache-2.0
// Histogram: counts durations in buckets whose width is 1/32 of a power of two. It computes any
// percentile with an error of at most 3 %, and its size is fixed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>

#include "common/base/units.hpp"

namespace iwarp::apps::measure {

class Histogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  void add(Nanoseconds duration) {
    ++buckets_[bucket(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)))];
    ++count_;
  }
  std::uint64_t count() const { return count_; }

  /// Returns a histogram of the durations that were added since the copy `before` was made.
  Histogram operator-(const Histogram& before) const {
    Histogram out = *this;
    for (std::size_t i = 0; i < kBuckets; ++i) out.buckets_[i] -= before.buckets_[i];
    out.count_ -= before.count_;
    return out;
  }

  /// Returns a percentile: the share `part` (0 to 1) of all durations is at most as long as the
  /// result. The result is precise to one bucket, and zero if the histogram is empty.
  Nanoseconds percentile(double part) const {
    if (count_ == 0) return Nanoseconds(0);
    auto left =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(part * static_cast<double>(count_)), 1);
    std::size_t at = 0;
    while (buckets_[at] < left) left -= buckets_[at++];
    return Nanoseconds(static_cast<std::int64_t>(upper_end(at)));
  }

  /// Returns the histogram as text with one bar per power of two, from the first to the last that
  /// is not empty.
  std::string text() const {
    constexpr std::uint64_t kBar = 50;
    std::array<std::uint64_t, 65> powers{};
    for (std::size_t i = 0; i < kBuckets; ++i) {
      powers[static_cast<std::size_t>(std::bit_width(upper_end(i)))] += buckets_[i];
    }
    const auto highest = std::ranges::max(powers);
    std::string out;
    std::size_t power = 0;
    for (auto left = count_; left != 0; ++power) {
      left -= powers[power];
      if (left == count_) continue;
      const auto below = Nanoseconds(std::int64_t{1} << power);
      const auto bar = (powers[power] * kBar + highest - 1) / highest;
      out += fmt::format("  < {:>9} {:>10} {}\n", format_duration(below), powers[power],
                         std::string(bar, '#'));
    }
    return out;
  }

 private:
  static constexpr unsigned kBits = 5;  ///< log2 of the number of buckets per power of two
  static constexpr std::size_t kBuckets = std::size_t{64} << kBits;

  // Durations below 2^kBits ns have one bucket per nanosecond. Longer durations have 2^kBits
  // buckets per power of two.
  static std::size_t bucket(std::uint64_t ns) {
    const auto width = static_cast<unsigned>(std::bit_width(ns));
    if (width <= kBits) return ns;
    const unsigned shift = width - kBits - 1;
    return (std::size_t{shift + 1} << kBits) + ((ns >> shift) & ((1U << kBits) - 1));
  }
  static std::uint64_t upper_end(std::size_t bucket) {
    const auto power = bucket >> kBits;
    const auto part = bucket & ((1U << kBits) - 1);
    if (power == 0) return part;
    return (((std::uint64_t{1} << kBits) + part + 1) << (power - 1)) - 1;
  }

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace iwarp::apps::measure
