// SPDX-License-Identifier: Apache-2.0
// Formats sizes, times and rates as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace iwarp::apps {

/// Formats a size, for example as "512 B", "4.0 KiB" or "3.0 GiB".
std::string format_octets(double octets);
/// Formats a duration, for example as "12.3 us", "4.56 ms" or "7.8 s".
std::string format_duration(std::chrono::nanoseconds duration);
/// Formats a rate, for example as "812 MiB/s". Returns "-" if `duration` is zero.
std::string format_rate(std::uint64_t octets, std::chrono::nanoseconds duration);

}  // namespace iwarp::apps
