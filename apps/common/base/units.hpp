// SPDX-License-Identifier: Apache-2.0
// Formats sizes, times and rates as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace iwarp::apps {

/// Returns "512 B", "4.0 KiB", "3.0 GiB".
std::string format_octets(double octets);
/// Returns "12.3 us", "4.56 ms", "7.8 s".
std::string format_duration(std::chrono::nanoseconds duration);
/// Returns "812 MiB/s", or "-" if `duration` is zero.
std::string format_rate(std::uint64_t octets, std::chrono::nanoseconds duration);

}  // namespace iwarp::apps
