// SPDX-License-Identifier: Apache-2.0
// Cases about valid and invalid Read Requests that the tester sends (RFC 5040 sections 4.4, 5.2.1,
// 6.1 and 7.2). The cases in response.cpp test the Reads that the peer sends, and how the peer
// handles the responses.
#include <fmt/format.h>

#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_read {
namespace {

using rdmap::Opcode;
using rdmap::ReadRequest;

constexpr std::uint32_t kUnknown = 0x5A5A5A00;
constexpr std::uint32_t kDepth = 4;  // number of outstanding Reads that the tester requests
// Number of Reads: more than kDepth, but few enough for one TCP segment.
constexpr std::uint32_t kBurst = 24;

// Valid -------------------------------------------------------------------------------------------

void whole(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto text = read_peer(s, memory, 0, memory.length);
  if (s.peer_role() == PeerRole::kResponder &&
      !std::ranges::equal(text, bytes::View(s.memory()).first(memory.length))) {
    throw Failed{"a Read Response with the octets that the peer has read from the tester",
                 "other octets"};
  }
  finish_exchange(s, memory);
}

void odd_offsets(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto text = read_peer(s, memory, 0, memory.length);
  const std::pair<std::uint32_t, std::uint32_t> parts[] = {
      {0, 1}, {memory.length - 1, 1}, {1, 2}, {3, 5}, {7, memory.length - 7}};
  for (const auto& [offset, length] : parts) {
    if (!std::ranges::equal(read_peer(s, memory, offset, length),
                            bytes::View(text).subspan(offset, length))) {
      throw Failed{
          fmt::format("a Read Response with the {} octets at offset {} of the peer's memory",
                      length, offset),
          "other octets"};
    }
  }
}

void expect_empty_response(Script& s, const ReadRequest& request) {
  const auto response = s.expect(Opcode::kReadResponse);
  if (response.segments != 1 || !response.payload.empty() ||
      response.header.stag != request.sink_stag || response.header.to != request.sink_to) {
    throw Failed{"one zero-length Read Response to the requested sink",
                 "a different Read Response"};
  }
}

void empty(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const auto request = read_of(memory, 0, 0);
  s.read_request(request);
  expect_empty_response(s, request);
  finish_exchange(s, memory);
}

void empty_unknown(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  const ReadRequest request{.sink_stag = {},
                            .sink_to = {~std::uint64_t{0}},
                            .size = 0,
                            .source_stag = {memory.stag ^ kUnknown},
                            .source_to = {~std::uint64_t{0}}};
  s.read_request(request);
  expect_empty_response(s, request);
  finish_exchange(s, memory);
}

void sink_copied(Script& s) {
  const auto memory = after_first_send(s);
  auto request = read_of(memory, 0, memory.length);
  request.sink_stag = {0xDEADBEEF};
  request.sink_to = {0xFEDCBA9876543210};
  s.read_request(request);
  std::uint64_t to = request.sink_to.value;
  for (bool last = false; !last;) {
    const Received received = s.receive();
    if (received.kind != Received::Kind::kSegment || !received.segment->is(Opcode::kReadResponse)) {
      throw Failed{"a Read Response", describe(received)};
    }
    const auto& segment = *received.segment;
    last = segment.header.last;
    const auto control = std::to_integer<unsigned>(segment.ulpdu[0]);
    if (control != (last ? 0xC1 : 0x81) || segment.ulpdu[1] != std::byte{0x42} ||
        segment.header.stag != request.sink_stag || segment.header.to.value != to) {
      throw Failed{
          "header octets 81 42 (C1 42 in the last segment), the sink's STag and consecutive TOs",
          "a different header"};
    }
    to += segment.payload().size();
  }
}

void reserved_bits(Script& s) {
  const auto memory = after_first_send(s);
  const auto opcode = Opcode::kReadRequest;
  auto header = untagged(opcode, s.take_msn(opcode), memory.stag);
  header.rsvd_ulp |= 0x30;
  auto ulpdu = make_ulpdu(header, encode_read_request(read_of(memory, 0, 8)));
  ulpdu[0] |= std::byte{0x3C};
  s.fpdu(ulpdu);
  s.expect(Opcode::kReadResponse);
  read_peer(s, memory, 0, 8);
}

void two_segments(Script& s) {
  const auto memory = after_first_send(s);
  send_segments(s, Opcode::kReadRequest, encode_read_request(read_of(memory, 0, 8)), {14, 14});
  s.expect(Opcode::kReadResponse);
}

// Many at once ------------------------------------------------------------------------------------

// Sends `count` Reads in one TCP segment. The n-th Read, counted from 0, requests n + 1 octets.
void burst(Script& s, const PeerMemory& memory, std::uint32_t count) {
  Octets together;
  for (std::uint32_t n = 0; n < count; ++n) {
    const auto header = untagged(Opcode::kReadRequest, s.take_msn(Opcode::kReadRequest));
    const auto one = s.make(make_ulpdu(header, encode_read_request(read_of(memory, 0, n + 1))));
    together.insert(together.end(), one.begin(), one.end());
  }
  s.octets(together);
}

PeerMemory with_depth(Script& s, std::uint32_t& depth) {
  const auto frame = s.establish({.ord = kDepth});
  const auto allowed = s.peer_word().ird;
  if (!frame.enhanced || allowed == 0) throw Skipped{"the peer negotiated no IRD, or an IRD of 0"};
  depth = std::min<std::uint32_t>(kDepth, allowed);
  return learn_memory(s);
}

void as_agreed(Script& s) {
  std::uint32_t depth = 0;
  const auto memory = with_depth(s, depth);
  burst(s, memory, depth);
  for (std::uint32_t n = 0; n < depth; ++n) {
    const auto size = s.expect(Opcode::kReadResponse).payload.size();
    if (size == n + 1) continue;
    throw Failed{"Read Responses of 1 octet, 2 octets and so on, in the order of the requests",
                 fmt::format("{} octets in Read Response number {}", size, n + 1)};
  }
  finish_exchange(s, memory);
}

// Sends more Reads than the ends agreed on. All Reads are in one TCP segment, so the peer cannot
// answer any of them before the last one arrives.
void beyond_agreed(Script& s) {
  std::uint32_t depth = 0;
  const auto memory = with_depth(s, depth);
  if (s.peer_word().ird >= kBurst) {
    throw Skipped{"the peer's IRD is too large: the case cannot exceed it within one TCP segment"};
  }
  burst(s, memory, kBurst);
  const bytes::Fault right[] = {ddp::kUntaggedNoBuffer, ddp::kUntaggedMsnRange,
                                rdmap::kStreamCatastrophic};
  for (std::uint32_t n = 0; n < kBurst; ++n) {
    const Received received = s.receive();
    if (received.kind == Received::Kind::kSegment && received.segment->is(Opcode::kReadResponse))
      continue;
    if (received.kind == Received::Kind::kSegment && received.segment->is(Opcode::kTerminate) &&
        std::ranges::find(right, read_terminate(*received.segment).terminate.fault) !=
            std::end(right)) {
      return;
    }
    throw Failed{"Terminate 1/2/02, 1/2/03 or 0/2/07", describe(received)};
  }
  throw Skipped{"the peer answered the Reads before they exceeded the agreed limit"};
}

// Invalid source ----------------------------------------------------------------------------------

void unknown_stag(Script& s) {
  auto memory = after_first_send(s);
  memory.stag ^= kUnknown;
  s.read_request(read_of(memory, 0, 8));
  s.expect_terminate({rdmap::kInvalidStag});
}

void wrong_key(Script& s) {
  auto memory = after_first_send(s);
  memory.stag ^= 0x01;
  s.read_request(read_of(memory, 0, 8));
  s.expect_terminate({rdmap::kInvalidStag});
}

void stag_0(Script& s) {
  auto memory = after_first_send(s);
  memory.stag = 0;
  s.read_request(read_of(memory, 0, 8));
  s.expect_terminate({rdmap::kInvalidStag});
}

void before(Script& s) {
  const auto memory = after_first_send(s);
  s.read_request(read_of(memory, ~std::uint64_t{0}, 8));
  s.expect_terminate({rdmap::kBounds});
}

void past(Script& s) {
  const auto memory = after_first_send(s);
  s.read_request(read_of(memory, 0, memory.length + 1));
  s.expect_terminate({rdmap::kBounds});
}

void behind(Script& s) {
  const auto memory = after_first_send(s);
  s.read_request(read_of(memory, memory.length, 1));
  s.expect_terminate({rdmap::kBounds});
}

void wraps(Script& s) {
  auto memory = after_first_send(s);
  memory.to = ~std::uint64_t{0} - 7;
  s.read_request(read_of(memory, 0, 16));
  s.expect_terminate({rdmap::kBounds, rdmap::kWrap});
}

void largest(Script& s) {
  const auto memory = after_first_send(s);
  s.read_request(read_of(memory, 0, 0xFFFFFFFF));
  s.expect_terminate({rdmap::kBounds, rdmap::kWrap});
}

// Invalid request ---------------------------------------------------------------------------------

template <std::size_t kSize>
void of_size(Script& s) {
  const auto memory = after_first_send(s);
  auto octets = encode_read_request(read_of(memory, 0, 8));
  octets.resize(kSize);
  const auto opcode = Opcode::kReadRequest;
  s.fpdu(make_ulpdu(untagged(opcode, s.take_msn(opcode)), octets));
  s.expect_end();
}

ddp::SegmentHeader request_header(std::uint32_t msn) { return untagged(Opcode::kReadRequest, msn); }

Octets small_read(const PeerMemory& memory) { return encode_read_request(read_of(memory, 0, 8)); }

void msn_zero(Script& s) {
  const auto memory = after_first_send(s);
  s.fpdu(make_ulpdu(request_header(0), small_read(memory)));
  s.expect_terminate({ddp::kUntaggedMsnRange});
}

void msn_skipped(Script& s) {
  const auto memory = after_first_send(s);
  s.fpdu(make_ulpdu(request_header(2), small_read(memory)));
  expect_undelivered(s, {ddp::kUntaggedMsnRange, ddp::kUntaggedNoBuffer});
}

void msn_repeated(Script& s) {
  const auto memory = after_first_send(s);
  read_peer(s, memory, 0, 8);
  s.fpdu(make_ulpdu(request_header(1), small_read(memory)));
  s.expect_terminate({ddp::kUntaggedMsnRange});
}

void mo_not_zero(Script& s) {
  const auto memory = after_first_send(s);
  auto header = request_header(1);
  header.mo = 4;
  s.fpdu(make_ulpdu(header, small_read(memory)));
  expect_terminate_next(s, {ddp::kUntaggedMo, ddp::kUntaggedTooLong});
}

void last_withheld(Script& s) {
  const auto memory = after_first_send(s);
  auto header = request_header(1);
  header.last = false;
  s.fpdu(make_ulpdu(header, small_read(memory)));
  expect_undelivered(s, {});
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/read/whole", "RFC 5040 5.2.1", "RDMAP-29 RDMAP-32 RDMAP-37", "answers a Read of all advertised memory without involving its program", kMust, kAny, whole},
    {"rdmap/read/odd-offsets", "RFC 5040 4.4", "RDMAP-14 RDMAP-37", "answers Reads of any part of the advertised memory", kMust, kAny, odd_offsets},
    {"rdmap/read/empty", "RFC 5040 5.2.1", "RDMAP-38 RDMAP-41", "answers a zero-length Read with a zero-length Read Response", kMust, kAny, empty},
    {"rdmap/read/empty-unknown", "RFC 5040 5.2.1", "RDMAP-40 RDMAP-41 SEC-19", "does not check the STag and TO of a zero-length Read", kMust, kAny, empty_unknown},
    {"rdmap/read/sink-copied", "RFC 5040 5.2.2", "RDMAP-13 RDMAP-42 RDMAP-47 DDP-13 DDP-14 DDP-43", "copies the sink's STag and TO to the Read Response", kMust, kAny, sink_copied},
    {"rdmap/read/reserved-bits", "RFC 5040 4.1", "RDMAP-9 RDMAP-10 DDP-19", "ignores the reserved bits and the InvSTag field of a Read Request", kMust, kAny, reserved_bits},
    {"rdmap/read/two-segments", "RFC 5041 5.2", "DDP-40", "accepts a Read Request of two segments", Level::kShould, kAny, two_segments},
    {"rdmap/read/as-agreed", "RFC 5040 6.1", "RDMAP-43 RDMAP-45 RDMAP-78 RDMAP-81", "answers the agreed number of outstanding Reads, in order", kMust, kAny, as_agreed},
    {"rdmap/read/beyond-agreed", "RFC 5040 6.1", "RDMAP-31 RDMAP-84 DDP-68", "terminates when the tester exceeds the agreed number of outstanding Reads", kMust, kAny, beyond_agreed},
    {"rdmap/read/unknown-stag", "RFC 5040 7.2", "RDMAP-39 RDMAP-101", "terminates on a Read of an unknown STag", kMust, kAny, unknown_stag},
    {"rdmap/read/wrong-key", "RFC 5040 7.2", "RDMAP-39 RDMAP-101", "terminates on a Read of an STag with a wrong key", kMust, kAny, wrong_key},
    {"rdmap/read/stag-0", "RFC 5040 7.2", "RDMAP-39 RDMAP-101", "terminates on a Read of STag 0", kMust, kAny, stag_0},
    {"rdmap/read/before", "RFC 5040 7.2", "RDMAP-103 SEC-12", "terminates on a Read that begins one octet before the advertised memory", kMust, kAny, before},
    {"rdmap/read/past", "RFC 5040 7.2", "RDMAP-104 SEC-12", "terminates on a Read one octet longer than the advertised memory", kMust, kAny, past},
    {"rdmap/read/behind", "RFC 5040 7.2", "RDMAP-103 SEC-12", "terminates on a Read of the octet after the advertised memory", kMust, kAny, behind},
    {"rdmap/read/wraps", "RFC 5040 7.2", "RDMAP-105 RDMAP-103", "terminates on a Read whose TO plus length exceeds 2^64", kMust, kAny, wraps},
    {"rdmap/read/largest", "RFC 5040 7.2", "RDMAP-104", "terminates on a Read of 0xFFFFFFFF octets", kMust, kAny, largest},
    {"rdmap/read/request-empty", "RFC 5040 4.4", "RDMAP-11 RDMAP-12", "ends the stream on a Read Request without an RDMA header (0 of 28 octets)", kMust, kAny, of_size<0>},
    {"rdmap/read/request-short", "RFC 5040 4.4", "RDMAP-11 RDMAP-12", "ends the stream on a Read Request whose RDMA header has 27 octets, not 28", kMust, kAny, of_size<27>},
    {"rdmap/read/request-long", "RFC 5040 4.4", "RDMAP-11 RDMAP-12 DDP-71", "ends the stream on a Read Request whose RDMA header has 32 octets, not 28", kMust, kAny, of_size<32>},
    {"rdmap/read/msn-zero", "RFC 5041 7.1", "DDP-32 DDP-72", "terminates on a Read Request with MSN 0", kMust, kAny, msn_zero},
    {"rdmap/read/msn-skipped", "RFC 5041 5.4", "DDP-31 DDP-52", "does not answer a Read Request while the previous request is missing", kMust, kAny, msn_skipped},
    {"rdmap/read/msn-repeated", "RFC 5041 7.1", "DDP-50 DDP-72", "terminates on a Read Request whose MSN was used before", kMust, kAny, msn_repeated},
    {"rdmap/read/mo-not-zero", "RFC 5041 7.1", "DDP-35 DDP-70", "terminates on a Read Request whose MO is not 0", kMust, kAny, mo_not_zero},
    {"rdmap/read/last-withheld", "RFC 5040 5.5", "RDMAP-75 DDP-52", "does not answer an incomplete Read Request", kMust, kAny, last_withheld},
};
// clang-format on

}  // namespace
}  // namespace rdmap_read

std::span<const Case> read_cases() { return rdmap_read::kCases; }

}  // namespace iwarp::apps::conform
