// SPDX-License-Identifier: Apache-2.0
// Cases about FPDUs: their length, their PAD, and how TCP segments them (RFC 5044 sections 4.1,
// 4.5, 5 and 6). The cases in crc.cpp test the CRC.
#include "iwarp/mpa/fpdu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"

namespace iwarp::apps::conform {
namespace mpa_fpdu {
namespace {

constexpr std::size_t kPiece = 8;  // size of each Write in cases that send many Writes
constexpr std::size_t kPieces = kExchangeSize / kPiece;
constexpr int kSmallMss = 536;         // a small MSS, which any TCP accepts
constexpr std::uint32_t kLong = 8192;  // size of a message that needs many segments at kSmallMss
// Size of a message that does not fit in one FPDU at any MSS.
constexpr std::uint32_t kVeryLong = 128 * 1024;

// PAD and length ---------------------------------------------------------------------------------

template <std::size_t pad>
void pad_ignored(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kPiece - pad, 5);
  s.fpdu(write_ulpdu(memory, 0, text), {.pad_fill = 0xA5});
  expect_memory(s, memory, text);
}

void every_length(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets text = pattern(kExchangeSize, 7);
  std::uint32_t at = 0;
  for (std::uint32_t size = 1; at + size <= kExchangeSize; ++size) {
    write(s, memory, at, bytes::View(text).subspan(at, size));
    at += size;
  }
  text.resize(at);
  expect_memory(s, memory, text);
}

void largest(Script& s) {
  constexpr std::uint32_t kPayload = mpa::kMaxMulpdu - ddp::kTaggedHeaderSize;
  s.establish();
  const auto memory = learn_or_skip(s, kPayload);
  const Octets text = pattern(kPayload, 9);
  write(s, memory, 0, text);
  expect_memory(s, memory, text);
}

void larger_than_mss(Script& s) {
  s.advertise_mss(kSmallMss);
  s.establish();
  const auto memory = learn_or_skip(s, kLong);
  const Octets text = pattern(kLong, 11);
  write(s, memory, 0, text);
  expect_memory(s, memory, text);
}

// Sends a ULPDU that is too short for its header. Valid octets follow this ULPDU, because a peer
// may wait for more octets before it reports the error.
template <std::size_t size, bool is_tagged>
void too_short(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto header = is_tagged ? tagged(rdmap::Opcode::kWrite, memory.stag, memory.to)
                                : untagged(rdmap::Opcode::kSend, s.next_msn(rdmap::Opcode::kSend));
  const Octets ulpdu = make_ulpdu(header, {});
  s.fpdu(bytes::View(ulpdu).first(size));
  write(s, memory, 0, pattern(kPiece));
  s.expect_end();
}

// Sends a message whose second segment is a ULPDU that is too short for its header. Valid octets
// follow this ULPDU, as in too_short().
template <std::size_t size, bool is_tagged>
void later_too_short(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = is_tagged ? tagged(rdmap::Opcode::kWrite, memory.stag, memory.to)
                          : untagged(rdmap::Opcode::kSend, s.next_msn(rdmap::Opcode::kSend));
  header.last = false;
  s.fpdu(make_ulpdu(header, pattern(kPiece)));
  header.last = true;
  if (is_tagged) {
    header.to.value += kPiece;
  } else {
    header.mo = kPiece;
  }
  s.fpdu(bytes::View(make_ulpdu(header, {})).first(size));
  write(s, memory, 0, pattern(kPiece));
  s.expect_end();
}

void never_complete(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.fpdu(write_ulpdu(memory, 0, pattern(kPiece)), {.ulpdu_length = 0xFFFF});
  s.half_close();
  s.expect_end();
  expect_survivor(s);
}

// How TCP segments the stream ---------------------------------------------------------------------

// For each octet from `first` to `last`, sends a Write whose FPDU is split before that octet.
template <std::size_t first, std::size_t last>
void split(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets wanted = pattern(kExchangeSize, 13);
  write(s, memory, 0, wanted);
  for (std::size_t cut = first; cut <= last; ++cut) {
    const std::size_t at = cut % kPieces * kPiece;
    const Octets text = pattern(kPiece, static_cast<std::uint32_t>(cut));
    std::ranges::copy(text, wanted.begin() + static_cast<std::ptrdiff_t>(at));
    const Octets fpdu = s.make(write_ulpdu(memory, at, text));
    s.octets(bytes::View(fpdu).first(cut));
    pause();
    s.octets(bytes::View(fpdu).subspan(cut));
    pause();
  }
  expect_memory(s, memory, wanted);
}

// Returns the FPDUs of many Writes. The sizes of the Writes are multiples of 4, so the FPDUs have
// no PAD. If a caller splits the stream at multiples of 4, no split is inside of a 4-octet field
// such as the CRC. Splits inside of such a field are tested by the cases that use split<>.
Octets many_fpdus(Script& s, const PeerMemory& memory, Octets& wanted) {
  Octets stream;
  for (std::uint32_t size = 0; size <= kExchangeSize; size += 4) {
    wanted = pattern(size, 17 + size);
    const Octets fpdu = s.make(write_ulpdu(memory, 0, wanted));
    stream.insert(stream.end(), fpdu.begin(), fpdu.end());
  }
  return stream;
}

template <std::size_t size>
void in_pieces_of(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  Octets wanted;
  const Octets stream = many_fpdus(s, memory, wanted);
  send_in_pieces(s, stream, size);
  expect_memory(s, memory, wanted);
}

// Sends an FPDU octet by octet up to the CRC, and then all octets of the CRC in one piece.
void trickle(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kPiece, 19);
  const Octets fpdu = s.make(write_ulpdu(memory, 0, text));
  send_in_pieces(s, bytes::View(fpdu).first(fpdu.size() - mpa::kCrcSize), 1);
  s.octets(bytes::View(fpdu).last(mpa::kCrcSize));
  expect_memory(s, memory, text);
}

void waits_for_all(Script& s) {
  s.establish();
  // Wait until the peer has sent its own Reads: while the tester has sent only a part of an FPDU,
  // it cannot answer a Read.
  expect_answer(s, learn_memory(s));
  const Octets fpdu = s.make(empty_read_ulpdu(s));
  s.octets(bytes::View(fpdu).first(fpdu.size() - mpa::kCrcSize));
  s.expect_silence();
  s.octets(bytes::View(fpdu).last(mpa::kCrcSize));
  s.expect(rdmap::Opcode::kReadResponse);
}

// The peer's own FPDUs ---------------------------------------------------------------------------

void own_pad(Script& s) {
  s.establish();
  s.watch([](const Segment& segment) {
    const auto behind = bytes::View(segment.octets).subspan(2 + segment.ulpdu.size());
    const auto pad = behind.first(behind.size() - mpa::kCrcSize);
    const bool zero = std::ranges::all_of(pad, [](std::byte b) { return b == std::byte{0}; });
    require(zero, "PAD octets that are zero", "PAD octets that are not zero");
  });
  const auto memory = learn_memory(s, kExchangeSize - 3);
  for (const std::uint32_t size : {1U, 2U, 3U, 4U}) read_peer(s, memory, 0, size);
  finish_exchange(s, memory);
}

void own_within_emss(Script& s) {
  s.advertise_mss(kSmallMss);
  const auto segments = receive_long_message(s, {}, kLong);
  const auto limit = mpa::mulpdu_for(s.advertised_mss(), false).octets;
  for (const Segment& segment : segments) {
    require(segment.ulpdu.size() <= limit, fmt::format("ULPDUs of at most {} octets", limit),
            fmt::format("a ULPDU of {} octets", segment.ulpdu.size()));
  }
}

void own_fills_emss(Script& s) {
  s.advertise_mss(kSmallMss);
  const auto segments = receive_long_message(s, {}, kLong);
  if (s.advertised_mss() > kSmallMss)
    throw Skipped{"the tester's TCP does not support an MSS of 536"};
  // A lower bound for the ULPDU: TCP options take up to 40 octets, and the peer may round its
  // payload down to a multiple of 8.
  const auto least = mpa::mulpdu_for(s.advertised_mss() - 40, false).octets - 8;
  const auto before_last = segments.size() - 1;
  for (const Segment& segment : std::span(segments).first(before_last)) {
    const auto size = segment.ulpdu.size();
    require(size >= least,
            fmt::format("ULPDUs of at least {} octets, except for the last ULPDU", least),
            fmt::format("a ULPDU of {} octets", size));
  }
}

void own_within_64768(Script& s) {
  for (const Segment& segment : receive_long_message(s, {}, kVeryLong)) {
    require(segment.ulpdu.size() <= mpa::kMaxMulpdu, "ULPDUs of at most 64768 octets",
            fmt::format("a ULPDU of {} octets", segment.ulpdu.size()));
  }
}

constexpr auto kMust = Level::kMust;
constexpr auto kShould = Level::kShould;
constexpr auto kEither = PeerRole::kEither;

// clang-format off
constexpr Case kCases[] = {
    {"mpa/fpdu/pad-1-ignored", "RFC 5044 4.1", "MPA-16", "accepts one octet of PAD that is not zero", kMust, kEither, pad_ignored<1>},
    {"mpa/fpdu/pad-2-ignored", "RFC 5044 4.1", "MPA-16", "accepts two octets of PAD that are not zero", kMust, kEither, pad_ignored<2>},
    {"mpa/fpdu/pad-3-ignored", "RFC 5044 4.1", "MPA-16", "accepts three octets of PAD that are not zero", kMust, kEither, pad_ignored<3>},
    {"mpa/fpdu/every-length", "RFC 5044 4.1", "MPA-12 MPA-13 MPA-14 MPA-34", "accepts ULPDUs of every length modulo 4", kMust, kEither, every_length},
    {"mpa/fpdu/larger-than-mss", "RFC 5044 5.1", "MPA-56 MPA-117", "accepts an FPDU larger than a TCP segment", kMust, kEither, larger_than_mss},
    {"mpa/fpdu/largest", "RFC 5044 3", "MPA-6 MPA-33", "accepts a ULPDU of 64768 octets", kMust, kEither, largest},
    {"mpa/fpdu/length-0", "RFC 5044 4.1", "DDP-36 DDP-62", "ends the stream on an empty ULPDU", kMust, kEither, too_short<0, true>},
    {"mpa/fpdu/length-1", "RFC 5041 4.1", "DDP-36 DDP-62", "ends the stream on a ULPDU of one octet", kMust, kEither, too_short<1, true>},
    {"mpa/fpdu/length-13", "RFC 5041 4.2", "DDP-22 DDP-62", "ends the stream on a truncated tagged header", kMust, kEither, too_short<13, true>},
    {"mpa/fpdu/length-17", "RFC 5041 4.3", "DDP-27 DDP-62", "ends the stream on a truncated untagged header", kMust, kEither, too_short<17, false>},
    {"mpa/fpdu/later-length-0", "RFC 5044 4.1", "DDP-36 DDP-62", "ends the stream on an empty ULPDU within a message", kMust, kEither, later_too_short<0, true>},
    {"mpa/fpdu/later-length-1", "RFC 5041 4.1", "DDP-36 DDP-62", "ends the stream on a ULPDU of one octet within a message", kMust, kEither, later_too_short<1, false>},
    {"mpa/fpdu/later-length-13", "RFC 5041 4.2", "DDP-22 DDP-62", "ends the stream on a truncated tagged header within a message", kMust, kEither, later_too_short<13, true>},
    {"mpa/fpdu/later-length-17", "RFC 5041 4.3", "DDP-27 DDP-62", "ends the stream on a truncated untagged header within a message", kMust, kEither, later_too_short<17, false>},
    {"mpa/fpdu/never-complete", "RFC 5044 6", "MPA-61 MPA-108", "closes the connection on a FIN inside an FPDU, and accepts a new connection", kMust, kEither, never_complete},
    {"mpa/fpdu/split-length", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts an FPDU that is split inside ULPDU_Length", kMust, kEither, split<1, 1>},
    {"mpa/fpdu/split-header", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts an FPDU that is split anywhere in its DDP header", kMust, kEither, split<2, 15>},
    {"mpa/fpdu/split-payload", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts an FPDU that is split anywhere in its payload", kMust, kEither, split<16, 23>},
    {"mpa/fpdu/split-crc", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts an FPDU that is split anywhere in its CRC", kMust, kEither, split<24, 27>},
    {"mpa/fpdu/trickle", "RFC 5044 5.1", "MPA-56 MPA-117", "accepts an FPDU whose header and payload arrive octet by octet", kMust, kEither, trickle},
    {"mpa/fpdu/many-at-once", "RFC 5044 5.1", "MPA-33 MPA-55 MPA-57", "accepts many FPDUs in one TCP segment", kMust, kEither, in_pieces_of<65535>},
    {"mpa/fpdu/unaligned-100", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts FPDUs in TCP segments of 100 octets", kMust, kEither, in_pieces_of<100>},
    {"mpa/fpdu/unaligned-20", "RFC 5044 5.1", "MPA-56 MPA-57 MPA-117", "accepts FPDUs in TCP segments of 20 octets", kMust, kEither, in_pieces_of<20>},
    {"mpa/fpdu/waits-for-all", "RFC 5044 6", "MPA-59 MPA-61", "does not process an FPDU before its CRC has arrived", kMust, kEither, waits_for_all},
    {"mpa/fpdu/own-pad", "RFC 5044 4.1", "MPA-14 MPA-15", "fills the PAD with zeros", kMust, kEither, own_pad},
    {"mpa/fpdu/own-within-emss", "RFC 5044 4.5", "MPA-4 MPA-48 DDP-37", "sends no ULPDU larger than the MULPDU derived from the EMSS", kMust, kEither, own_within_emss},
    {"mpa/fpdu/own-within-64768", "RFC 5044 3", "MPA-6 MPA-7", "sends no ULPDU larger than 64768 octets", kMust, kEither, own_within_64768},
    {"mpa/fpdu/own-fills-emss", "RFC 5044 4.5", "MPA-50", "fills its segments up to the MULPDU", kShould, kEither, own_fills_emss},
};
// clang-format on

}  // namespace
}  // namespace mpa_fpdu

std::span<const Case> fpdu_cases() { return mpa_fpdu::kCases; }

}  // namespace iwarp::apps::conform
