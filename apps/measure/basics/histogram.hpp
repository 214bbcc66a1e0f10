// SPDX-License-Identifier: Apache-2.0
// Histogram: counts durations in buckets whose width is 1/32 of a power of two. It computes any
// percentile with an error of at most 3 %, and its size is fixed.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace iwarp::apps::measure {

class Histogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  void add(Nanoseconds duration);
  std::uint64_t count() const { return count_; }
  /// Returns a histogram of the durations that were added since the copy `before` was made.
  Histogram operator-(const Histogram& before) const;
  /// Returns a percentile: the share `part` (0 to 1) of all durations is at most as long as the
  /// result. The result is precise to one bucket, and zero if the histogram is empty.
  Nanoseconds percentile(double part) const;
  /// Returns the histogram as text with one bar per power of two, from the first to the last that
  /// is not empty.
  std::string text() const;

 private:
  static constexpr unsigned kBits = 5;  ///< log2 of the number of buckets per power of two
  static constexpr std::size_t kBuckets = std::size_t{64} << kBits;

  static std::size_t bucket(std::uint64_t ns);
  static std::uint64_t upper_end(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace iwarp::apps::measure
