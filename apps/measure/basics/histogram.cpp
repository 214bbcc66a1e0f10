// SPDX-License-Identifier: Apache-2.0
// Durations below 2^kBits ns have one bucket per nanosecond. Longer durations have 2^kBits buckets
// per power of two.
#include "measure/basics/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/base/units.hpp"

namespace iwarp::apps::measure {

std::size_t Histogram::bucket(std::uint64_t ns) {
  const auto width = static_cast<unsigned>(std::bit_width(ns));
  if (width <= kBits) return ns;
  const unsigned shift = width - kBits - 1;
  return (std::size_t{shift + 1} << kBits) + ((ns >> shift) & ((1U << kBits) - 1));
}

std::uint64_t Histogram::upper_end(std::size_t bucket) {
  const auto power = bucket >> kBits;
  const auto part = bucket & ((1U << kBits) - 1);
  if (power == 0) return part;
  return (((std::uint64_t{1} << kBits) + part + 1) << (power - 1)) - 1;
}

void Histogram::add(Nanoseconds duration) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  ++buckets_[bucket(ns)];
  ++count_;
}

Histogram Histogram::operator-(const Histogram& before) const {
  Histogram out;
  for (std::size_t i = 0; i < kBuckets; ++i) out.buckets_[i] = buckets_[i] - before.buckets_[i];
  out.count_ = count_ - before.count_;
  return out;
}

Histogram::Nanoseconds Histogram::percentile(double part) const {
  const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (buckets_[i] != 0 && seen >= std::max<std::uint64_t>(wanted, 1)) {
      return Nanoseconds(static_cast<std::int64_t>(upper_end(i)));
    }
  }
  return Nanoseconds(0);
}

std::string Histogram::text() const {
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

}  // namespace iwarp::apps::measure
