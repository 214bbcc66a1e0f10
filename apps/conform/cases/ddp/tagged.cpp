// SPDX-License-Identifier: Apache-2.0
// Cases about tagged segments: their headers, their placement, and the tagged segments that the
// peer sends (RFC 5041 sections 4.1, 4.2, 5 and 7). The cases in stag.cpp test STags and bounds.
#include <fmt/format.h>

#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"
#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {
namespace ddp_tagged {
namespace {

constexpr std::size_t kPiece = 8;
constexpr int kSmallMss = 536;
constexpr std::uint32_t kLong = 8192;

constexpr std::byte kDdpReserved{0x3C};
constexpr std::byte kDdpVersionBits{0x03};
constexpr std::byte kRdmapReserved{0x30};

// Header fields ----------------------------------------------------------------------------------

template <std::size_t octet, std::byte bits>
void bits_ignored(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kPiece, 37);
  Octets ulpdu = write_ulpdu(memory, 0, text);
  ulpdu[octet] |= bits;
  s.fpdu(ulpdu);
  expect_memory(s, memory, text);
}

template <std::uint8_t version>
void version_refused(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to);
  header.version = version;
  s.fpdu(make_ulpdu(header, pattern(kPiece)));
  s.expect_terminate({ddp::kTaggedVersion});
}

void version_of_empty(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to);
  header.version = 2;
  s.fpdu(make_ulpdu(header, {}));
  s.expect_terminate({ddp::kTaggedVersion});
}

// Placement --------------------------------------------------------------------------------------

void every_offset(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets wanted = pattern(kExchangeSize, 41);
  write(s, memory, 0, wanted);
  for (std::uint32_t at = 0; at < 8; ++at) {
    for (std::uint32_t size = 1; size <= 16; ++size) {
      const Octets text = pattern(size, 100 + at * 16 + size);
      std::ranges::copy(text, wanted.begin() + at);
      write(s, memory, at, text);
    }
    expect_memory(s, memory, wanted);
  }
}

void single_octets(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kExchangeSize, 43);
  for (std::size_t at = kExchangeSize; at-- > 0;) {
    write(s, memory, at, bytes::View(text).subspan(at, 1));
  }
  expect_memory(s, memory, text);
}

void neighbours_untouched(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets text = pattern(kExchangeSize, 47);
  write(s, memory, 0, text);
  text[kExchangeSize / 2] = std::byte{'!'};
  write(s, memory, kExchangeSize / 2, bytes::View(text).subspan(kExchangeSize / 2, 1));
  expect_memory(s, memory, text);
}

void segment(Script& s, const PeerMemory& memory, std::size_t at, bytes::View text, bool last) {
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to + at);
  header.last = last;
  s.fpdu(make_ulpdu(header, text));
}

void segments(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kExchangeSize, 53);
  segment(s, memory, 0, bytes::View(text).first(1), false);
  segment(s, memory, 1, bytes::View(text).subspan(1, 40), false);
  segment(s, memory, 41, bytes::View(text).subspan(41), true);
  expect_memory(s, memory, text);
}

void falling_offsets(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kExchangeSize, 59);
  segment(s, memory, 32, bytes::View(text).subspan(32), false);
  segment(s, memory, 0, bytes::View(text).first(32), true);
  expect_memory(s, memory, text);
}

void many_segments(Script& s) {
  s.establish();
  const auto memory = learn_or_skip(s, kLong);
  const Octets text = pattern(kLong, 61);
  for (std::size_t at = 0; at < kLong; at += 500) {
    const auto size = std::min<std::size_t>(500, kLong - at);
    segment(s, memory, at, bytes::View(text).subspan(at, size), at + size == kLong);
  }
  expect_memory(s, memory, text);
}

// After an error ---------------------------------------------------------------------------------

void nothing_behind(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets both = s.make(write_ulpdu({.stag = memory.stag ^ 0x5A5A5A00}, 0, pattern(kPiece)));
  const Octets good = s.make(empty_read_ulpdu(s));
  both.insert(both.end(), good.begin(), good.end());
  s.octets(both);
  expect_terminate_next(s, {ddp::kTaggedInvalidStag});
}

void first_error_reported(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets both = s.make(write_ulpdu({.stag = memory.stag ^ 0x5A5A5A00}, 0, pattern(kPiece)));
  const Octets worse = s.make(write_ulpdu(memory, 0, pattern(kPiece)), {.crc_xor = 1});
  both.insert(both.end(), worse.begin(), worse.end());
  s.octets(both);
  expect_terminate_next(s, {ddp::kTaggedInvalidStag});
}

// The peer's segments ----------------------------------------------------------------------------

void own_header(Script& s) {
  s.establish();
  s.watch([](const Segment& seen) {
    if (!seen.header.tagged) return;
    require((seen.ulpdu[0] & kDdpReserved) == std::byte{0},
            "a DDP header whose reserved bits are 0", "a DDP header with reserved bits set");
    require((seen.ulpdu[0] & kDdpVersionBits) == std::byte{1}, "DDP version 1",
            "another DDP version");
    require((seen.ulpdu[1] & kRdmapReserved) == std::byte{0},
            "an RDMAP Control Field whose reserved bits are 0",
            "an RDMAP Control Field with reserved bits set");
  });
  exchange(s);
}

void own_segments(Script& s) {
  s.advertise_mss(kSmallMss);
  const auto seen = receive_long_message(s, {}, kLong);
  const auto& first = seen.front().header;
  std::uint64_t to = first.to.value;
  for (const Segment& segment : seen) {
    require(segment.header.to.value == to, fmt::format("a segment for TO 0x{:x}", to),
            fmt::format("a segment for TO 0x{:x}", segment.header.to.value));
    require(segment.header.stag == first.stag, "the same STag in all segments",
            "segments with different STags");
    require(segment.header.rsvd_ulp == first.rsvd_ulp,
            "the same RDMAP Control Field in all segments",
            "segments with different RDMAP Control Fields");
    to += segment.payload().size();
  }
  require(seen.back().header.last, "L=1 in the last segment", "L=0 in the last segment");
  // The first segment with L=1 ends the message.
  const auto total = to - first.to.value;
  require(total >= kLong, fmt::format("a message of at least {} octets", kLong),
          fmt::format("a message of {} octets", total));
}

void own_empty(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.watch([](const Segment& seen) {
    require(!seen.is(rdmap::Opcode::kReadResponse) || seen.header.last, "one segment with L=1",
            "a segment with L=0");
  });
  read_peer(s, memory, 0, 0);
  s.expect_silence(std::chrono::milliseconds(50));
}

constexpr auto kMust = Level::kMust;
constexpr auto kShould = Level::kShould;
constexpr auto kEither = PeerRole::kEither;

// clang-format off
constexpr Case kCases[] = {
    {"ddp/tagged/reserved-ignored", "RFC 5041 4.1", "DDP-19", "ignores the reserved bits of a tagged DDP header", kMust, kEither, bits_ignored<0, kDdpReserved>},
    {"ddp/tagged/rdmap-reserved-ignored", "RFC 5040 4.1", "RDMAP-9", "ignores the reserved bits in the RDMAP Control Field of a Write", kMust, kEither, bits_ignored<1, kRdmapReserved>},
    {"ddp/tagged/version-0", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Write of DDP version 0", kMust, kEither, version_refused<0>},
    {"ddp/tagged/version-2", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Write of DDP version 2", kMust, kEither, version_refused<2>},
    {"ddp/tagged/version-3", "RFC 5041 7.2", "DDP-20 DDP-83", "terminates on a Write of DDP version 3", kMust, kEither, version_refused<3>},
    {"ddp/tagged/version-of-empty", "RFC 5041 5.2", "DDP-45 DDP-83", "checks the DDP version of a zero-length Write", kMust, kEither, version_of_empty},
    {"ddp/tagged/every-offset", "RFC 5041 5.2", "DDP-26 DDP-40 RDMAP-25", "places Writes at every offset modulo 8", kMust, kEither, every_offset},
    {"ddp/tagged/single-octets", "RFC 5041 5.2", "DDP-26 DDP-40", "places Writes of one octet", kMust, kEither, single_octets},
    {"ddp/tagged/neighbours-untouched", "RFC 5041 5.2", "DDP-40 SEC-12", "modifies no memory outside a Write of one octet", kMust, kEither, neighbours_untouched},
    {"ddp/tagged/segments", "RFC 5041 5.2", "DDP-40 DDP-43", "places a Write of three segments", kMust, kEither, segments},
    {"ddp/tagged/many-segments", "RFC 5041 5.2", "DDP-40 DDP-43", "places a Write of many segments", kMust, kEither, many_segments},
    {"ddp/tagged/nothing-behind", "RFC 5041 7.1", "DDP-81", "processes no FPDU after an invalid tagged segment", kMust, kEither, nothing_behind},
    {"ddp/tagged/first-error-told", "RFC 5040 7.1", "RDMAP-95", "reports only the first of two errors", kMust, kEither, first_error_reported},
    {"ddp/tagged/own-header", "RFC 5041 4.1", "DDP-18 DDP-20 RDMAP-9", "sends tagged headers with DDP version 1 and zero in the reserved bits", kMust, kEither, own_header},
    {"ddp/tagged/own-segments", "RFC 5041 5.2", "DDP-13 DDP-14 DDP-23 DDP-25 DDP-43", "splits long messages into segments with contiguous TO ranges", kMust, kEither, own_segments},
    {"ddp/tagged/own-empty", "RFC 5041 5.2", "DDP-44", "sends a zero-length Read Response in one segment", kMust, kEither, own_empty},
    {"ddp/tagged/falling-offsets", "RFC 5041 5.2", "DDP-40 DDP-48", "places the segments of a Write even if their TOs are out of order", kShould, kEither, falling_offsets},
};
// clang-format on

}  // namespace
}  // namespace ddp_tagged

std::span<const Case> tagged_cases() { return ddp_tagged::kCases; }

}  // namespace iwarp::apps::conform
