// SPDX-License-Identifier: Apache-2.0
// Cases about Read Responses that the tester sends to a peer that issues Reads, as rping's server
// does (RFC 5040 sections 5.2.2 and 5.5). The peer need not compare a response with its request,
// but it must not place octets of a response outside of the memory to which it has given access.
#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {
namespace rdmap_response {
namespace {

using rdmap::Opcode;

bytes::View text(Script& s) { return bytes::View(s.memory()).first(kExchangeSize); }

void respond(Script& s, const rdmap::ReadRequest& request, std::uint64_t offset, std::size_t size,
             bool last) {
  auto header =
      tagged(Opcode::kReadResponse, request.sink_stag.value, request.sink_to.value + offset);
  header.last = last;
  s.fpdu(make_ulpdu(header, bytes::View(s.memory()).subspan(offset, size)));
}

PeerMemory sink_of(const rdmap::ReadRequest& request) {
  return {request.sink_stag.value, request.sink_to.value, kExchangeSize};
}

// Expects that the peer has received the data: the peer must continue the exchange and write the
// same data back.
void read_done(Script& s, const rdmap::ReadRequest& request) {
  s.serve_memory(true);
  s.expect(Opcode::kSend);
  finish_exchange(s, sink_of(request));
}

// Expects the end of the stream. If the peer continues, throws Skipped with the reason `what`,
// because RFC 5040 section 5.2.2 makes the check that would detect the error optional (MAY).
void expect_end_or_skip(Script& s, const char* what) {
  for (;;) {
    const Received received = s.receive();
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
    const bool segment = received.kind == Received::Kind::kSegment;
    if (segment && received.segment->is(Opcode::kTerminate)) return;
    throw Skipped{what};
  }
}

void many_segments(Script& s) {
  const auto request = await_read(s);
  for (std::uint32_t at = 0; at < kExchangeSize; ++at) {
    respond(s, request, at, 1, at + 1 == kExchangeSize);
  }
  read_done(s, request);
}

void last_withheld(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, kExchangeSize / 2, false);
  s.expect_silence();
  respond(s, request, kExchangeSize / 2, kExchangeSize / 2, true);
  read_done(s, request);
}

void reserved_bits(Script& s) {
  const auto request = await_read(s);
  auto header = tagged(Opcode::kReadResponse, request.sink_stag.value, request.sink_to.value);
  header.rsvd_ulp |= 0x30;
  auto ulpdu = make_ulpdu(header, text(s));
  ulpdu[0] |= std::byte{0x3C};
  s.fpdu(ulpdu);
  read_done(s, request);
}

void other_stag(Script& s) {
  const auto request = await_read(s);
  s.read_response(request.sink_stag.value ^ 0x5A5A5A00, request.sink_to.value, text(s));
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

void before_sink(Script& s) {
  const auto request = await_read(s);
  s.read_response(request.sink_stag.value, request.sink_to.value - 1, text(s));
  s.expect_terminate({ddp::kTaggedBounds});
}

void behind_sink(Script& s) {
  const auto request = await_read(s);
  s.read_response(request.sink_stag.value, request.sink_to.value + kExchangeSize, text(s));
  s.expect_terminate({ddp::kTaggedBounds});
}

void too_long(Script& s) {
  const auto request = await_read(s);
  s.read_response(request.sink_stag.value, request.sink_to.value,
                  bytes::View(s.memory()).first(kExchangeSize + 1));
  s.expect_terminate({ddp::kTaggedBounds});
}

// Sends more octets than were requested, but never the last segment. The peer therefore cannot
// detect the error by comparing sizes at the end of the message.
void too_long_unended(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, kExchangeSize, false);
  respond(s, request, kExchangeSize, 8, false);
  s.expect_terminate({ddp::kTaggedBounds});
}

void too_short(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, kExchangeSize - 1, true);
  expect_end_or_skip(
      s, "the peer does not check the length of a Read Response (the check is optional)");
}

void empty(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, 0, true);
  expect_end_or_skip(
      s, "the peer does not check the length of a Read Response (the check is optional)");
}

void elsewhere_inside(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 8, 8, true);
  expect_end_or_skip(s,
                     "the peer does not check the TO of a Read Response (the check is optional)");
}

// Sends a response whose second segment has an incomplete header. The peer must check this header
// even though it has already seen the first segment of the message.
template <std::size_t size>
void later_header_short(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, kExchangeSize / 2, false);
  const auto header = tagged(Opcode::kReadResponse, request.sink_stag.value,
                             request.sink_to.value + kExchangeSize / 2);
  s.fpdu(bytes::View(make_ulpdu(header, {})).first(size));
  respond(s, request, kExchangeSize / 2, kExchangeSize / 2, true);
  s.expect_end();
}

void twice(Script& s) {
  const auto request = await_read(s);
  respond(s, request, 0, kExchangeSize, true);
  respond(s, request, 0, kExchangeSize, true);
  s.expect_end();
}

void unasked(Script& s) {
  const auto memory = after_first_send(s);
  s.read_response(memory.stag, memory.to, Octets(8));
  s.expect_end();
}

void unasked_empty(Script& s) {
  after_first_send(s);
  s.read_response(1, 0, {});
  s.expect_end();
}

constexpr auto kServer = PeerRole::kResponder;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/response/many-segments", "RFC 5040 5.2.2", "RDMAP-44 RDMAP-79 DDP-40", "accepts a Read Response of one-octet segments", kMust, kServer, many_segments},
    {"rdmap/response/last-withheld", "RFC 5040 5.5", "RDMAP-77 DDP-52", "completes a Read only after the last segment of the response", kMust, kServer, last_withheld},
    {"rdmap/response/reserved-bits", "RFC 5040 4.1", "RDMAP-9 DDP-19", "ignores the reserved bits of a Read Response", kMust, kServer, reserved_bits},
    {"rdmap/response/other-stag", "RFC 5041 7.1", "RDMAP-46 DDP-73", "terminates on a Read Response to an unknown STag", kMust, kServer, other_stag},
    {"rdmap/response/before-sink", "RFC 5041 7.1", "RDMAP-46 DDP-75", "terminates on a Read Response that begins before its sink", kMust, kServer, before_sink},
    {"rdmap/response/behind-sink", "RFC 5041 7.1", "RDMAP-46 DDP-75", "terminates on a Read Response that begins after the end of its sink", kMust, kServer, behind_sink},
    {"rdmap/response/too-long", "RFC 5041 7.1", "RDMAP-46 DDP-76", "terminates on a Read Response longer than its sink", kMust, kServer, too_long},
    {"rdmap/response/too-long-unended", "RFC 5041 7.1", "RDMAP-46 DDP-76", "terminates on a Read Response that exceeds its sink in a segment with L=0", kMust, kServer, too_long_unended},
    {"rdmap/response/later-length-0", "RFC 5041 4.1", "DDP-36 DDP-62", "ends the stream on an empty ULPDU within a Read Response", kMust, kServer, later_header_short<0>},
    {"rdmap/response/later-length-13", "RFC 5041 4.2", "DDP-22 DDP-62", "ends the stream on a truncated DDP header within a Read Response", kMust, kServer, later_header_short<13>},
    {"rdmap/response/too-short", "RFC 5040 5.2.2", "RDMAP-46", "does not complete a Read whose response has too few octets", Level::kShould, kServer, too_short},
    {"rdmap/response/empty", "RFC 5040 5.2.2", "RDMAP-46", "does not complete a Read whose response is empty", Level::kShould, kServer, empty},
    {"rdmap/response/elsewhere-inside", "RFC 5040 5.2.2", "RDMAP-46", "does not complete a Read whose response has the wrong TO", Level::kShould, kServer, elsewhere_inside},
    {"rdmap/response/twice", "RFC 5040 7.2", "RDMAP-29 RDMAP-97", "ends the stream on a second Read Response to the same request", kMust, kServer, twice},
    {"rdmap/response/unasked", "RFC 5040 7.2", "RDMAP-29 RDMAP-97", "ends the stream on an unsolicited Read Response", kMust, PeerRole::kEither, unasked},
    {"rdmap/response/unasked-empty", "RFC 5040 7.2", "RDMAP-29 RDMAP-97", "ends the stream on an unsolicited empty Read Response", kMust, PeerRole::kEither, unasked_empty},
};
// clang-format on

}  // namespace
}  // namespace rdmap_response

std::span<const Case> response_cases() { return rdmap_response::kCases; }

}  // namespace iwarp::apps::conform
