// SPDX-License-Identifier: Apache-2.0
// Histogram: counts durations in buckets of 1/32 of a power of two, so that any percentile is known
// within 3 % from memory of a fixed size.
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
  /// What was added since `before`, an earlier state of this one.
  Histogram operator-(const Histogram& before) const;
  /// The duration that `part` (0 to 1) of all are not above; zero when there are none.
  Nanoseconds percentile(double part) const;
  /// One line per power of two with a bar, from the first that is not empty to the last.
  std::string text() const;

 private:
  static constexpr unsigned kBits = 5;  ///< of a bucket within its power of two
  static constexpr std::size_t kBuckets = std::size_t{64} << kBits;

  static std::size_t bucket(std::uint64_t ns);
  static std::uint64_t upper_end(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace iwarp::apps::measure
