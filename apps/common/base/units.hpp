// SPDX-License-Identifier: Apache-2.0
// Sizes, times and rates as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace iwarp::apps {

/// "512 B", "4.0 KiB", "3.0 GiB".
std::string format_octets(double octets);
/// "12.3 us", "4.56 ms", "7.8 s".
std::string format_duration(std::chrono::nanoseconds duration);
/// "812 MiB/s"; "-" for no time at all.
std::string format_rate(std::uint64_t octets, std::chrono::nanoseconds duration);

}  // namespace iwarp::apps
