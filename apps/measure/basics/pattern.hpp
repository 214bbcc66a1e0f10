// SPDX-License-Identifier: Apache-2.0
// The payload pattern of --check. Each byte depends on the connection, the message number and the
// byte's position, so that lost, late, duplicated and misplaced data is detected. The last byte is
// the low byte of the message number, so it differs from the last byte of the previous message.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/base/error.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::measure {

inline void fill_pattern(bytes::Span octets, std::uint64_t lane, std::uint64_t number) {
  if (octets.empty()) return;
  auto state = (lane + 1) * 0xD1B54A32D192ED03 + number * 0x2545F4914F6CDD1D;
  for (auto rest = octets; !rest.empty();) {
    state += 0x9E3779B97F4A7C15;
    const auto mixed = state ^ (state >> 29);
    const auto word = std::endian::native == std::endian::big ? std::byteswap(mixed) : mixed;
    const auto size = std::min(sizeof word, rest.size());
    std::memcpy(rest.data(), &word, size);
    rest = rest.subspan(size);
  }
  octets.back() = static_cast<std::byte>(number);
}

/// Throws Error if a byte is wrong. The text names the byte and its message. The first `skip` bytes
/// are not checked.
inline void check_pattern(bytes::View octets, std::uint64_t lane, std::uint64_t number,
                          std::size_t skip = 0) {
  if (octets.size() <= skip) return;
  thread_local std::vector<std::byte> due;
  due.resize(octets.size());
  fill_pattern(due, lane, number);
  if (std::memcmp(octets.data() + skip, due.data() + skip, octets.size() - skip) == 0) return;
  const auto wrong = std::ranges::mismatch(octets.subspan(skip), bytes::View(due).subspan(skip));
  throw Error(fmt::format("octet {} of message {} on connection {} is {:#04x} instead of {:#04x}",
                          wrong.in1 - octets.begin(), number, lane,
                          std::to_integer<unsigned>(*wrong.in1),
                          std::to_integer<unsigned>(*wrong.in2)));
}

}  // namespace iwarp::apps::measure
