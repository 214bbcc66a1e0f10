// SPDX-License-Identifier: Apache-2.0
// Formats sizes, times and rates as text. Sizes use powers of 1024.
#include "common/base/units.hpp"

#include <fmt/format.h>

#include <array>

namespace iwarp::apps {

std::string format_octets(double octets) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (octets >= 1024 && unit + 1 < kUnits.size()) {
    octets /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", octets)
                   : fmt::format("{:.1f} {}", octets, kUnits[unit]);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.1f} s", ns / 1e9);
}

std::string format_rate(std::uint64_t octets, std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return "-";
  return format_octets(static_cast<double>(octets) * 1e9 / static_cast<double>(duration.count())) +
         "/s";
}

}  // namespace iwarp::apps
