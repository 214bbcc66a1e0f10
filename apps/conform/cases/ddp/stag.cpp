// SPDX-License-Identifier: Apache-2.0
// Cases about STags: which memory an STag gives access to, on which stream, and within which bounds
// (RFC 5041 sections 7 and 8, RFC 5042 sections 6.1 and 6.2). The peer's program gives access to
// exactly the octets that it advertises.
#include <fmt/format.h>

#include <algorithm>

#include "conform/script/case.hpp"
#include "conform/script/probe.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace ddp_stag {
namespace {

constexpr std::uint32_t kPiece = 8;
constexpr std::uint64_t kFarAway = 1ULL << 40;

// STags ------------------------------------------------------------------------------------------

template <std::uint32_t flip>
void wrong_stag(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(memory.stag ^ flip, memory.to, pattern(kPiece));
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void stag_0(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(0, memory.to, pattern(kPiece));
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void later_segment(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to);
  header.last = false;
  s.fpdu(make_ulpdu(header, pattern(kPiece)));
  s.write(memory.stag ^ 0x5A5A5A00, memory.to + kPiece, pattern(kPiece));
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void earlier_connection(Script& s) {
  s.establish();
  const auto old = learn_memory(s);
  s.half_close();
  s.expect_end();
  s.establish();
  learn_memory(s);
  write(s, old, 0, pattern(kPiece));
  s.expect_terminate({ddp::kTaggedInvalidStag, ddp::kTaggedNotAssociated});
}

void other_connection(Script& s) {
  Script other(s.target());
  other.establish();
  const auto theirs = learn_memory(other);
  const auto before = read_peer(other, theirs, 0, theirs.length);
  s.establish();
  learn_memory(s);
  write(s, theirs, 0, pattern(kExchangeSize, 79));
  s.expect_terminate({ddp::kTaggedInvalidStag, ddp::kTaggedNotAssociated});
  expect_memory(other, theirs, before);
  finish_exchange(other, theirs);
}

void read_other_connection(Script& s) {
  Script other(s.target());
  other.establish();
  const auto theirs = learn_memory(other);
  s.establish();
  learn_memory(s);
  s.read_request(read_of(theirs, 0, theirs.length));
  expect_terminate_next(s, {rdmap::kInvalidStag, rdmap::kNotAssociated});
  finish_exchange(other, theirs);
}

void unpredictable(Script& s) {
  constexpr std::size_t kConnections = 5;
  std::vector<std::uint32_t> steps;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < kConnections; ++i) {
    s.establish();
    const auto stag = learn_memory(s).stag;
    if (i != 0) steps.push_back((stag >> 8) - (last >> 8));
    last = stag;
  }
  const bool constant = std::ranges::all_of(steps, [&](auto step) { return step == steps[0]; });
  require(
      !constant, "STag indexes without a constant difference between successive connections",
      fmt::format("STag indexes with a constant difference of {} between successive connections",
                  static_cast<std::int32_t>(steps[0])));
}

// Bounds -----------------------------------------------------------------------------------------

// Sends a Write that begins at `offset` from the start of `memory`, and expects the peer to report
// a bounds violation. A negative `offset` wraps around.
void beyond(Script& s, const PeerMemory& memory, std::uint64_t offset, std::size_t size) {
  write(s, memory, offset, pattern(size));
  s.expect_terminate({ddp::kTaggedBounds});
}

void before_start(Script& s) {
  s.establish();
  beyond(s, learn_memory(s), ~std::uint64_t{0}, kPiece);
}

void last_octet(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const Octets text = pattern(kPiece, 83);
  const std::uint32_t at = memory.length - kPiece;
  write(s, memory, at, text);
  expect_memory(s, memory, text, at);
}

void one_past_end(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  beyond(s, memory, memory.length - kPiece + 1, kPiece);
}

void at_end(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  beyond(s, memory, memory.length, 1);
}

void whole_and_one(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(memory.stag, memory.to, pattern(memory.length + 1));
  s.expect_terminate({ddp::kTaggedBounds});
}

void far_away(Script& s) {
  s.establish();
  beyond(s, learn_memory(s), kFarAway, kPiece);
}

// Sends a Write to a TO that is wrong only in its upper 32 bits.
void upper_half(Script& s) {
  s.establish();
  beyond(s, learn_memory(s), 1ULL << 32, kPiece);
}

void later_segment_past_end(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto start = memory.length - kPiece;
  auto header = tagged(rdmap::Opcode::kWrite, memory.stag, memory.to + start);
  header.last = false;
  s.fpdu(make_ulpdu(header, pattern(kPiece)));
  beyond(s, memory, memory.length, kPiece);
}

// Sends a Write whose TO + length exceeds 2^64. Its TO is also out of bounds, so the peer may
// report either error.
void wraps(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(memory.stag, ~std::uint64_t{0} - 3, pattern(kPiece));
  s.expect_terminate({ddp::kTaggedWrap, ddp::kTaggedBounds});
}

// Sends a Write whose last octet is at 2^64 - 1. TO + length does not wrap, but the octets are
// outside of every region.
void ends_at_top(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(memory.stag, ~std::uint64_t{0} - (kPiece - 1), pattern(kPiece));
  s.expect_terminate({ddp::kTaggedBounds});
}

// Zero-length operations, for which the peer must not check STag and TO ---------------------------

void empty_with(Script& s, const PeerMemory& memory, std::uint32_t stag, std::uint64_t to) {
  s.write(stag, to, {});
  expect_answer(s, memory);
  finish_exchange(s, memory);
}

void empty_wrong_stag(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  empty_with(s, memory, memory.stag ^ 0x5A5A5A00, memory.to);
}

void empty_stag_0(Script& s) {
  s.establish();
  empty_with(s, learn_memory(s), 0, 0);
}

void empty_out_of_bounds(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  empty_with(s, memory, memory.stag, memory.to + kFarAway);
}

void empty_at_top(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  empty_with(s, memory, memory.stag, ~std::uint64_t{0});
}

constexpr auto kMust = Level::kMust;
constexpr auto kEither = PeerRole::kEither;
constexpr auto kListens = PeerRole::kResponder;

// clang-format off
constexpr Case kCases[] = {
    {"ddp/stag/unknown", "RFC 5041 7.2", "DDP-24 DDP-73 DDP-83", "terminates on a Write to an unknown STag", kMust, kEither, wrong_stag<0x5A5A5A00>},
    {"ddp/stag/neighbour", "RFC 5041 7.2", "DDP-73 DDP-83", "terminates on a Write to an STag whose index is off by one", kMust, kEither, wrong_stag<0x00000100>},
    {"ddp/stag/wrong-key", "RFC 5041 7.2", "DDP-73 DDP-83 VRB-26", "terminates on a Write to an STag with a wrong key", kMust, kEither, wrong_stag<0x00000001>},
    {"ddp/stag/zero", "RFC 5041 7.2", "DDP-73 VRB-27", "terminates on a Write to STag 0", kMust, kEither, stag_0},
    {"ddp/stag/later-segment", "RFC 5041 7.1", "DDP-73 DDP-25", "checks the STag of each segment of a Write", kMust, kEither, later_segment},
    {"ddp/stag/earlier-connection", "RFC 5042 6.1.1", "DDP-94 SEC-9", "terminates on a Write to an STag advertised on a closed connection", kMust, kEither, earlier_connection},
    {"ddp/stag/other-connection", "RFC 5042 6.1.1", "DDP-74 DDP-93 SEC-7 SEC-8 RDMAP-107", "refuses a Write to memory advertised on another connection", kMust, kListens, other_connection},
    {"ddp/stag/read-other-connection", "RFC 5042 6.1.1", "RDMAP-102 RDMAP-107 SEC-8", "refuses a Read of memory advertised on another connection", kMust, kListens, read_other_connection},
    {"ddp/stag/unpredictable", "RFC 5040 8.1.1", "RDMAP-114 SEC-10", "chooses STags that cannot be predicted from earlier STags", kMust, kEither, unpredictable},
    {"ddp/bounds/last-octet", "RFC 5041 7.1", "DDP-76", "accepts a Write that ends with the last octet of the advertised memory", kMust, kEither, last_octet},
    {"ddp/bounds/before-start", "RFC 5041 7.1", "DDP-75 DDP-95 SEC-12", "terminates on a Write that begins one octet before the advertised memory", kMust, kEither, before_start},
    {"ddp/bounds/one-past-end", "RFC 5041 7.1", "DDP-76 DDP-95 SEC-12", "terminates on a Write that ends one octet past the advertised memory", kMust, kEither, one_past_end},
    {"ddp/bounds/at-end", "RFC 5041 7.1", "DDP-75 DDP-95 SEC-12", "terminates on a Write to the first octet after the advertised memory", kMust, kEither, at_end},
    {"ddp/bounds/whole-and-one", "RFC 5041 7.1", "DDP-76 DDP-95 SEC-12", "terminates on a Write one octet longer than the advertised memory", kMust, kEither, whole_and_one},
    {"ddp/bounds/far-away", "RFC 5041 7.1", "DDP-75", "terminates on a Write to a TO far beyond the advertised memory", kMust, kEither, far_away},
    {"ddp/bounds/upper-half", "RFC 5041 7.1", "DDP-75", "compares all 64 bits of the TO with the bounds", kMust, kEither, upper_half},
    {"ddp/bounds/later-segment", "RFC 5041 7.1", "DDP-75 DDP-79", "checks the bounds of each segment of a Write", kMust, kEither, later_segment_past_end},
    {"ddp/bounds/wraps", "RFC 5041 7.1", "DDP-77", "terminates on a Write whose TO plus length exceeds 2^64", kMust, kEither, wraps},
    {"ddp/bounds/ends-at-top", "RFC 5041 7.1", "DDP-75 DDP-77", "terminates on a Write whose last octet is at TO 2^64 - 1", kMust, kEither, ends_at_top},
    {"ddp/empty/wrong-stag", "RFC 5041 5.2", "DDP-45 DDP-46 VRB-33", "accepts a zero-length Write to an unknown STag", kMust, kEither, empty_wrong_stag},
    {"ddp/empty/stag-0", "RFC 5041 5.2", "DDP-45 DDP-46 VRB-33", "accepts a zero-length Write to STag 0", kMust, kEither, empty_stag_0},
    {"ddp/empty/out-of-bounds", "RFC 5041 5.2", "DDP-45 DDP-46 VRB-33", "accepts a zero-length Write to a TO far beyond the advertised memory", kMust, kEither, empty_out_of_bounds},
    {"ddp/empty/at-top", "RFC 5041 5.2", "DDP-45 DDP-46 VRB-33", "accepts a zero-length Write at TO 2^64 - 1", kMust, kEither, empty_at_top},
};
// clang-format on

}  // namespace
}  // namespace ddp_stag

std::span<const Case> stag_cases() { return ddp_stag::kCases; }

}  // namespace iwarp::apps::conform
