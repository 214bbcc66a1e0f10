// SPDX-License-Identifier: Apache-2.0
// Generates the payload pattern, eight bytes at a time, and compares received bytes with it.
#include "measure/basics/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "common/base/error.hpp"

namespace iwarp::apps::measure {

void fill_pattern(bytes::Span octets, std::uint64_t lane, std::uint64_t number) {
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

void check_pattern(bytes::View octets, std::uint64_t lane, std::uint64_t number, std::size_t skip) {
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
