// SPDX-License-Identifier: Apache-2.0
// Cases about markers in both directions (RFC 5044 sections 4.2, 4.3, 7.1 and 8). The tester sends
// markers if the peer requests them, and the peer must send markers if the tester requests them. An
// end need not request markers.
#include <fmt/format.h>

#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::apps::conform {
namespace mpa_marker {
namespace {

// The FPDU of a Write of 8 octets has 7 words of 4 octets. Between two markers there are 127 such
// words. If the tester sends 127 of these FPDUs, a marker therefore precedes each of the 7 words
// once.
constexpr std::size_t kPiece = 8;
constexpr int kSweep = 127;
constexpr std::size_t kFpdu = 28;
// Offset in the peer's memory to which the tested Write goes. The Writes that only advance the
// stream position go to offset 0.
constexpr std::uint32_t kTestedAt = 32;

// Offsets of a marker from the first octet of an FPDU of kFpdu octets.
constexpr std::size_t kBefore = 0;
constexpr std::size_t kInHeader = 8;
constexpr std::size_t kInPayload = 20;
constexpr std::size_t kBeforeCrc = 24;

PeerMemory establish_marked(Script& s) {
  s.establish();
  if (!s.framing().markers) throw Skipped{"the peer does not request markers"};
  return learn_memory(s);
}

// Sends Writes until the stream position is such that the next FPDU has a marker at `offset` from
// its first octet.
void until_marker_at(Script& s, const PeerMemory& memory, std::size_t offset) {
  while ((s.framing().position + offset) % mpa::kMarkerInterval != 0) {
    write(s, memory, 0, pattern(kPiece));
  }
}

// Sends a Write whose FPDU has a marker at `offset`, and expects the peer to accept it. `tamper`
// can alter the FPDU.
template <std::size_t offset>
void taken(Script& s, const Tamper& tamper = {}) {
  const auto memory = establish_marked(s);
  until_marker_at(s, memory, offset);
  const Octets text = pattern(kPiece, 23);
  s.fpdu(write_ulpdu(memory, kTestedAt, text), tamper);
  expect_memory(s, memory, text, kTestedAt);
}
template <std::size_t offset>
void accepted(Script& s) {
  taken<offset>(s);
}
void reserved_ignored(Script& s) { taken<kInPayload>(s, {.marker_reserved = 0xA5A5}); }
void low_bits_masked(Script& s) { taken<kInPayload>(s, {.fpduptr_xor = 0x0003}); }

void everywhere(Script& s) {
  const auto memory = establish_marked(s);
  Octets wanted = pattern(kExchangeSize, 29);
  write(s, memory, 0, wanted);
  for (std::size_t i = 0; i < kSweep; ++i) {
    const std::size_t at = i % (kExchangeSize / kPiece) * kPiece;
    const Octets text = pattern(kPiece, static_cast<std::uint32_t>(i));
    std::ranges::copy(text, wanted.begin() + static_cast<std::ptrdiff_t>(at));
    write(s, memory, at, text);
  }
  expect_memory(s, memory, wanted);
}

void several_in_one(Script& s) {
  s.establish();
  if (!s.framing().markers) throw Skipped{"the peer does not request markers"};
  constexpr std::uint32_t kSize = 3000;
  const auto memory = learn_or_skip(s, kSize);
  const Octets text = pattern(kSize, 31);
  write(s, memory, 0, text);
  expect_memory(s, memory, text);
}

// Deliberate errors -------------------------------------------------------------------------------

template <std::size_t offset>
void wrong_pointer(Script& s) {
  const auto memory = establish_marked(s);
  until_marker_at(s, memory, offset);
  s.fpdu(write_ulpdu(memory, kTestedAt, pattern(kPiece)), {.fpduptr_xor = 0x0010});
  s.expect_terminate({mpa::kMarkerMismatch});
}

// Flips a bit in the reserved half of the marker after the CRC has been computed. Only the CRC can
// reveal this error.
template <std::size_t offset>
void flipped(Script& s) {
  const auto memory = establish_marked(s);
  until_marker_at(s, memory, offset);
  s.fpdu(write_ulpdu(memory, kTestedAt, pattern(kPiece)), {.flip_octet = offset + 1});
  s.expect_terminate({mpa::kCrcMismatch});
}

template <std::size_t offset>
void not_covered(Script& s) {
  const auto memory = establish_marked(s);
  until_marker_at(s, memory, offset);
  const Octets ulpdu = write_ulpdu(memory, kTestedAt, pattern(kPiece));
  Octets fpdu = s.make(ulpdu);
  Framing unmarked;
  const Octets other = make_fpdu(ulpdu, unmarked);
  std::ranges::copy(bytes::View(other).last(mpa::kCrcSize), fpdu.end() - mpa::kCrcSize);
  s.octets(fpdu);
  s.expect_terminate({mpa::kCrcMismatch});
}

// Sends two FPDUs with a framing other than the one that startup agreed on. Two FPDUs have enough
// octets for the peer to detect the error.
void misframed(Script& s, Framing framing) {
  const PeerMemory nowhere{.stag = 1};
  for (int i = 0; i < 2; ++i) {
    s.octets(make_fpdu(write_ulpdu(nowhere, 0, pattern(kPiece)), framing));
  }
}

void missing(Script& s) {
  until_marker_at(s, establish_marked(s), kInPayload);
  misframed(s, {.markers = false});
  s.expect_terminate({mpa::kCrcMismatch, mpa::kMarkerMismatch});
}

// Sends the marker 4 octets too early. The CRC matches even if the peer expects the marker
// elsewhere, because the CRC covers the same octets in either case. Only the value of FPDUPTR is
// wrong.
void early(Script& s) {
  until_marker_at(s, establish_marked(s), kInPayload);
  misframed(s, {.markers = true, .position = s.framing().position + mpa::kMarkerSize});
  s.expect_terminate({mpa::kMarkerMismatch});
}

void late(Script& s) {
  until_marker_at(s, establish_marked(s), kInHeader);
  misframed(s, {.markers = true, .position = s.framing().position - mpa::kMarkerSize});
  s.expect_terminate({mpa::kMarkerMismatch});
}

// The peer's markers -----------------------------------------------------------------------------

const Setup kMarkers{.markers = true};

// Requests markers. If startup fails, the case is skipped, because other cases test whether the
// peer supports markers at all.
PeerMemory request_markers(Script& s, const Setup& setup = kMarkers) {
  try {
    s.establish(setup);
    return learn_memory(s);
  } catch (const Failed&) {
    throw Skipped{"the peer does not send markers"};
  }
}

// Makes the peer send Read Responses until a marker has appeared at every possible position.
void receive_sweep(Script& s, const PeerMemory& memory) {
  for (int i = 0; i < kSweep; ++i) read_peer(s, memory, 0, kPiece);
}

void first_octets(Script& s) {
  std::optional<Segment> first;
  s.watch([&first](const Segment& segment) {
    if (!first) first = segment;
  });
  request_markers(s);
  const auto octets = bytes::View(first->octets).first(mpa::kMarkerSize);
  const bool zero = std::ranges::all_of(octets, [](std::byte b) { return b == std::byte{0}; });
  require(first->position == 0 && zero, "a marker with value 0 before the first FPDU",
          "other octets at the start of the stream");
}

void own_pointers(Script& s) {
  s.watch([](const Segment& segment) {
    require(segment.markers_agree, "markers that point to the start of their FPDU",
            "a marker that does not point to the start of its FPDU");
  });
  receive_sweep(s, request_markers(s));
}

void own_crc(Script& s) {
  s.watch([](const Segment& segment) {
    require(
        segment.crc == trace::CrcVerdict::kGood, "CRCs that cover the markers",
        fmt::format("an FPDU with a wrong CRC (number of markers: {})", segment.fpduptrs.size()));
  });
  receive_sweep(s, request_markers(s));
}

void own_zero_bits(Script& s) {
  s.watch([](const Segment& segment) {
    std::uint64_t at =
        (mpa::kMarkerInterval - segment.position % mpa::kMarkerInterval) % mpa::kMarkerInterval;
    for (; at + mpa::kMarkerSize <= segment.octets.size(); at += mpa::kMarkerInterval) {
      const auto marker = bytes::View(segment.octets).subspan(at, mpa::kMarkerSize);
      const auto pointer = bytes::load_be<std::uint16_t>(marker.data() + 2);
      require(bytes::load_be<std::uint16_t>(marker.data()) == 0 && pointer % 4 == 0,
              "markers whose reserved bits and low two FPDUPTR bits are 0",
              "a marker with one of these bits set");
    }
  });
  receive_sweep(s, request_markers(s));
}

void own_several_in_one(Script& s) {
  request_markers(s);
  std::size_t most = 0;
  for (const Segment& segment : receive_long_message(s, kMarkers, 8192)) {
    require(segment.markers_agree, "markers that all point to the start of their FPDU",
            "a marker that does not point to the start of its FPDU");
    most = std::max(most, segment.fpduptrs.size());
  }
  if (most < 3) throw Skipped{"the peer's FPDUs are too short for three markers"};
}

void own_within_emss(Script& s) {
  s.advertise_mss(1460);
  request_markers(s);
  const auto segments = receive_long_message(s, kMarkers, 8192);
  const auto limit = mpa::mulpdu_for(s.advertised_mss(), true).octets;
  for (const Segment& segment : segments) {
    require(segment.ulpdu.size() <= limit, fmt::format("ULPDUs of at most {} octets", limit),
            fmt::format("a ULPDU of {} octets", segment.ulpdu.size()));
  }
}

void own_without_crc(Script& s) {
  const auto memory = request_markers(s, {.crc = false, .markers = true});
  if (s.crc()) throw Skipped{"the peer requests CRCs"};
  finish_exchange(s, memory);
}

void both_ways(Script& s) {
  const auto memory = request_markers(s);
  if (!s.framing().markers) throw Skipped{"the peer does not request markers"};
  for (int i = 0; i < kSweep; ++i) {
    const Octets text = pattern(kPiece, static_cast<std::uint32_t>(i));
    write(s, memory, 0, text);
    expect_memory(s, memory, text);
  }
}

constexpr auto kMust = Level::kMust;
constexpr auto kShould = Level::kShould;
constexpr auto kEither = PeerRole::kEither;

// clang-format off
constexpr Case kCases[] = {
    {"mpa/marker/both-ways", "RFC 5044 7.1.1", "MPA-70", "sends and accepts markers on the same connection", kMust, kEither, both_ways},
    {"mpa/marker/own-first", "RFC 5044 4.3", "MPA-26 MPA-97", "sends a marker with value 0 before its first FPDU", kMust, kEither, first_octets},
    {"mpa/marker/own-pointers", "RFC 5044 4.3", "MPA-27 MPA-28 MPA-31", "points FPDUPTR to ULPDU_Length, wherever the marker falls", kMust, kEither, own_pointers},
    {"mpa/marker/own-several", "RFC 5044 4.3", "MPA-30", "points all markers of an FPDU to the start of this FPDU", kMust, kEither, own_several_in_one},
    {"mpa/marker/own-crc", "RFC 5044 4.4", "MPA-29 MPA-44 MPA-45", "includes its markers in the CRC, wherever they fall", kMust, kEither, own_crc},
    {"mpa/marker/own-zero-bits", "RFC 5044 4.2", "MPA-19 MPA-20 MPA-22", "sends zero in the reserved bits of markers", kMust, kEither, own_zero_bits},
    {"mpa/marker/own-within-emss", "RFC 5044 4.5", "MPA-47", "reduces its MULPDU to leave room for markers", kMust, kEither, own_within_emss},
    {"mpa/marker/own-without-crc", "RFC 5044 4.3", "MPA-17 MPA-70", "sends markers even when CRCs are off", kMust, kEither, own_without_crc},
    {"mpa/marker/before-fpdu", "RFC 5044 4.3", "MPA-28 MPA-29 MPA-34", "accepts a marker before an FPDU", kMust, kEither, accepted<kBefore>},
    {"mpa/marker/in-header", "RFC 5044 4.3", "MPA-27 MPA-34", "accepts a marker inside the DDP header", kMust, kEither, accepted<kInHeader>},
    {"mpa/marker/in-payload", "RFC 5044 4.3", "MPA-27 MPA-34", "accepts a marker inside the payload", kMust, kEither, accepted<kInPayload>},
    {"mpa/marker/before-crc", "RFC 5044 4.4", "MPA-34 MPA-45", "accepts a marker directly before the CRC", kMust, kEither, accepted<kBeforeCrc>},
    {"mpa/marker/at-end", "RFC 5044 4.3", "MPA-28 MPA-29", "accepts an FPDU that ends where a marker begins", kMust, kEither, accepted<kFpdu>},
    {"mpa/marker/everywhere", "RFC 5044 4.3", "MPA-25 MPA-31 MPA-34", "accepts a marker at every 4-octet boundary of an FPDU", kMust, kEither, everywhere},
    {"mpa/marker/several", "RFC 5044 4.3", "MPA-30 MPA-34", "accepts an FPDU with several markers", kMust, kEither, several_in_one},
    {"mpa/marker/reserved-ignored", "RFC 5044 4.2", "MPA-21", "ignores the reserved half of a marker", kMust, kEither, reserved_ignored},
    {"mpa/marker/low-bits-masked", "RFC 5044 4.2", "MPA-23", "ignores the two low bits of FPDUPTR", kMust, kEither, low_bits_masked},
    {"mpa/marker/flipped-leading", "RFC 5044 4.4", "MPA-29 MPA-44", "terminates on a flipped bit in a marker before an FPDU", kMust, kEither, flipped<kBefore>},
    {"mpa/marker/flipped-inner", "RFC 5044 4.4", "MPA-44", "terminates on a flipped bit in a marker inside an FPDU", kMust, kEither, flipped<kInPayload>},
    {"mpa/marker/flipped-before-crc", "RFC 5044 4.4", "MPA-45", "terminates on a flipped bit in a marker before the CRC", kMust, kEither, flipped<kBeforeCrc>},
    {"mpa/marker/leading-not-covered", "RFC 5044 4.4", "MPA-29 MPA-44", "terminates on a CRC that does not cover the marker before the FPDU", kMust, kEither, not_covered<kBefore>},
    {"mpa/marker/inner-not-covered", "RFC 5044 4.4", "MPA-44", "terminates on a CRC computed without the marker inside the FPDU", kMust, kEither, not_covered<kInPayload>},
    {"mpa/marker/missing", "RFC 5044 8", "MPA-108", "terminates when a marker is missing", kMust, kEither, missing},
    {"mpa/marker/early", "RFC 5044 8", "MPA-108 MPA-110", "terminates when a marker is 4 octets early", kShould, kEither, early},
    {"mpa/marker/late", "RFC 5044 8", "MPA-108 MPA-110", "terminates when a marker is 4 octets late", kShould, kEither, late},
    {"mpa/marker/wrong-pointer", "RFC 5044 8", "MPA-108 MPA-110", "terminates on an FPDUPTR that does not point to ULPDU_Length", kShould, kEither, wrong_pointer<kInPayload>},
    {"mpa/marker/wrong-leading-pointer", "RFC 5044 8", "MPA-108 MPA-110", "terminates on a nonzero FPDUPTR in a marker before an FPDU", kShould, kEither, wrong_pointer<kBefore>},
};
// clang-format on

}  // namespace
}  // namespace mpa_marker

std::span<const Case> marker_cases() { return mpa_marker::kCases; }

}  // namespace iwarp::apps::conform
