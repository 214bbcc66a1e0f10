// SPDX-License-Identifier: Apache-2.0
// The MULPDU formula and the number of markers (RFC 5044 sections 4.3 and 4.5). This file computes
// sizes only; it reads and writes no octets.
#include "iwarp/mpa/fpdu.hpp"

#include <algorithm>

#include "iwarp/mpa/layout.hpp"

namespace iwarp::mpa {
namespace {

/// The EMSS to assume if the caller does not know it: the EMSS of TCP with time stamps over an
/// Ethernet MTU of 1500.
constexpr std::size_t kGuessedEmss = 1448;
/// Size of the length field and the CRC.
constexpr std::size_t kFixedOverhead = kLengthFieldSize + kCrcSize;

}  // namespace

std::size_t markers_within(std::uint64_t position, std::size_t octets) {
  const std::size_t before = to_next_marker(position);
  if (octets <= before) return 0;
  return 1 + (octets - before - 1) / (kMarkerInterval - kMarkerSize);
}

Mulpdu mulpdu_for(std::size_t emss, bool markers) {
  if (emss == 0) emss = kGuessedEmss;                // [MPA-53]
  std::size_t overhead = kFixedOverhead + emss % 4;  // [MPA-48]
  if (markers) {
    overhead += kMarkerSize * ((emss + kMarkerInterval - 1) / kMarkerInterval);  // [MPA-47]
  }
  const std::size_t left = emss > overhead ? emss - overhead : 0;
  return Mulpdu{std::clamp(left, kMinMulpdu, kMaxMulpdu)};  // [MPA-6] [MPA-51] [MPA-52]
}

}  // namespace iwarp::mpa
