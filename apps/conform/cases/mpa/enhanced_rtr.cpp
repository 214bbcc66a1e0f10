// SPDX-License-Identifier: Apache-2.0
// Cases about the Ready To Receive message of peer-to-peer mode (RFC 6581 sections 5 and 9.2).
#include <fmt/format.h>

#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {
namespace mpa_enhanced_rtr {
namespace {

using mpa::Rtr;

constexpr std::string_view kNames[] = {"no", "Write", "Read", "Send"};

std::string_view name(Rtr kind) { return kNames[static_cast<std::size_t>(kind)]; }

// The peer listens --------------------------------------------------------------------------------

// Exchanges startup frames in which both ends agree on an RTR of this `kind`. The tester must then
// send the RTR as its first FPDU.
void agree_on(Script& s, Rtr kind) {
  s.open();
  s.send_startup(Setup{.peer_to_peer = true, .rtr = kind});
  s.expect_accept();
  if (!s.peer_word().peer_to_peer) throw Skipped{"the peer does not echo A=1 (peer-to-peer mode)"};
  if (names_rtr(s.peer_word(), kind)) return;
  leave_in_order(s);
  throw Skipped{fmt::format("the peer does not support a {} as the RTR", name(kind))};
}

// Offers all kinds of RTR. Returns the first one that the peer supports.
Rtr agree(Script& s) {
  s.open();
  s.send_startup(Setup{.word = mpa::EnhancedWord{.peer_to_peer = true,
                                                 .rtr_send = true,
                                                 .ird = 16,
                                                 .rtr_write = true,
                                                 .rtr_read = true,
                                                 .ord = 16}});
  s.expect_accept();
  if (!s.peer_word().peer_to_peer) throw Skipped{"the peer does not echo A=1 (peer-to-peer mode)"};
  for (const Rtr kind : {Rtr::kWrite, Rtr::kRead, Rtr::kSend}) {
    if (names_rtr(s.peer_word(), kind)) return kind;
  }
  throw Skipped{"the peer's Reply names no RTR kind"};
}

template <Rtr Kind>
void rtr_works(Script& s) {
  agree_on(s, Kind);
  s.begin(Kind);
  exchange(s);
}

void read_rtr_answered(Script& s) {
  constexpr std::uint32_t kStag = 0x12345678;
  constexpr std::uint64_t kTo = 0x123456789ABCDEF0;
  agree_on(s, Rtr::kRead);
  s.begin();
  s.read_request({.sink_stag = {kStag},
                  .sink_to = {kTo},
                  .size = 0,
                  .source_stag = {0x9ABCDEF0},
                  .source_to = {1}});
  const auto response = s.expect(rdmap::Opcode::kReadResponse);
  const auto& header = response.header;
  if (header.stag.value != kStag || header.to.value != kTo || !response.payload.empty()) {
    throw Failed{"a zero-length Read Response to the sink of the RTR",
                 fmt::format("a Read Response of {} octets to STag 0x{:08x}, TO 0x{:x}",
                             response.payload.size(), header.stag.value, header.to.value)};
  }
  exchange(s);
}

template <std::uint32_t Stag>
void write_rtr_stag(Script& s) {
  agree_on(s, Rtr::kWrite);
  s.begin();
  s.write(Stag, 0xFFFFFFFFFFFFFFFF, {});
  exchange(s);
}

void read_rtr_stag_0(Script& s) {
  agree_on(s, Rtr::kRead);
  s.begin();
  s.read_request({});
  s.serve_memory(false);
  s.expect(rdmap::Opcode::kReadResponse);
  s.serve_memory(true);
  exchange(s);
}

void waits_for_rtr(Script& s) {
  const Rtr kind = agree(s);
  s.expect_silence();
  s.begin(kind);
  exchange(s);
}

void octets_of_rtr(Script& s, bool split) {
  agree_on(s, Rtr::kWrite);
  s.begin();
  Octets octets = s.make(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}));
  if (split) {
    s.octets(bytes::View(octets).first(5));
    s.expect_silence(std::chrono::milliseconds(50));
    s.octets(bytes::View(octets).subspan(5));
  } else {
    const auto next = s.make(make_ulpdu(tagged(rdmap::Opcode::kWrite, 2, 0), {}));
    octets.insert(octets.end(), next.begin(), next.end());
    s.octets(octets);
  }
  exchange(s);
}

void rtr_split(Script& s) { octets_of_rtr(s, true); }
void rtr_and_more(Script& s) { octets_of_rtr(s, false); }

void other_kind_than_agreed(Script& s) {
  const Rtr kind = agree(s);
  s.begin();
  if (kind == Rtr::kRead) {
    s.write(1, 0, {});
  } else {
    s.read_request({.sink_stag = {1}, .source_stag = {1}});
  }
  s.serve_memory(false);
  const Received received = s.receive(std::chrono::milliseconds(300));
  s.serve_memory(true);
  if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
  exchange_or_end(s);
}

void no_rtr_at_all(Script& s) {
  agree(s);
  s.begin();
  exchange_or_end(s);
}

void damaged_rtr(Script& s) {
  agree_on(s, Rtr::kWrite);
  s.begin();
  s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), {.crc_xor = 1});
  s.expect_end();
  expect_next_works(s);
}

// The peer connects -------------------------------------------------------------------------------

Setup meet_peer_to_peer(Script& s) {
  const Setup setup = s.await_peer();
  if (!setup.peer_to_peer) throw Skipped{"the peer does not request peer-to-peer mode"};
  return setup;
}

// Sends a Reply that offers exactly the kinds of RTR whose parameter is true.
void answer_with(Script& s, Setup setup, bool write, bool read, bool send) {
  setup.word = mpa::EnhancedWord{.peer_to_peer = true,
                                 .rtr_send = send,
                                 .ird = setup.ird,
                                 .rtr_write = write,
                                 .rtr_read = read,
                                 .ord = setup.ord};
  s.send_startup(setup);
  s.begin();
}

// Returns the peer's next segment, which must be the RTR. In contrast to other cases, the tester
// does not answer Reads of the peer while it waits.
Segment first_segment(Script& s) {
  s.serve(Script::Serve::kNothing);
  const Received received = s.receive();
  s.serve_memory(true);
  if (!received.segment) throw Failed{"an RTR", describe(received)};
  return *received.segment;
}

bool is_rtr(const Segment& segment, Rtr kind) {
  if (kind == Rtr::kWrite) return segment.is(rdmap::Opcode::kWrite) && segment.payload().empty();
  if (kind == Rtr::kSend) return segment.is(rdmap::Opcode::kSend) && segment.payload().empty();
  const auto request = rdmap::decode_read_request(segment.payload());
  return segment.is(rdmap::Opcode::kReadRequest) && request && request->size == 0;
}

void answer_read(Script& s, const Segment& segment) {
  if (!segment.is(rdmap::Opcode::kReadRequest)) return;
  const auto request = rdmap::decode_read_request(segment.payload());
  s.read_response(request->sink_stag.value, request->sink_to.value, {});
}

void expect_rtr(const Segment& segment, Rtr kind) {
  if (is_rtr(segment, kind)) return;
  Received received{.kind = Received::Kind::kSegment, .segment = segment, .octets = {}, .why = {}};
  throw Failed{fmt::format("a zero-length {} as the RTR", name(kind)), describe(received)};
}

template <Rtr Kind>
void sends_rtr(Script& s) {
  const Setup setup = meet_peer_to_peer(s);
  if (!names_rtr(s.peer_word(), Kind)) {
    throw Skipped{fmt::format("the peer does not offer a {} as the RTR", name(Kind))};
  }
  answer_with(s, setup, Kind == Rtr::kWrite, Kind == Rtr::kRead, Kind == Rtr::kSend);
  const Segment rtr = first_segment(s);
  expect_rtr(rtr, Kind);
  answer_read(s, rtr);
  exchange(s);
}

void sends_one_rtr(Script& s) {
  answer_with(s, meet_peer_to_peer(s), true, true, true);
  const auto offered = s.peer_word();
  const Segment rtr = first_segment(s);
  const bool agreed = (is_rtr(rtr, Rtr::kWrite) && offered.rtr_write) ||
                      (is_rtr(rtr, Rtr::kRead) && offered.rtr_read) ||
                      (is_rtr(rtr, Rtr::kSend) && offered.rtr_send);
  if (!agreed) throw Failed{"an RTR of a kind that the Request offered", "another message"};
  answer_read(s, rtr);
  const Segment next = first_segment(s);
  if (!next.is(rdmap::Opcode::kSend) || next.payload().empty()) {
    throw Failed{"a Send from the peer's program directly after the RTR",
                 "a second RTR, or another message"};
  }
}

// Answers the Read RTR with a response that has a payload and L=0. The RTR requests no octets, so
// the payload exceeds the peer's sink.
void read_rtr_overfilled(Script& s) {
  const Setup setup = meet_peer_to_peer(s);
  if (!names_rtr(s.peer_word(), Rtr::kRead))
    throw Skipped{"the peer does not offer a Read as the RTR"};
  answer_with(s, setup, false, true, false);
  const Segment rtr = first_segment(s);
  expect_rtr(rtr, Rtr::kRead);
  const auto request = rdmap::decode_read_request(rtr.payload());
  auto header =
      tagged(rdmap::Opcode::kReadResponse, request->sink_stag.value, request->sink_to.value);
  header.last = false;
  s.fpdu(make_ulpdu(header, bytes::View(s.memory()).first(8)));
  s.expect_terminate({ddp::kTaggedInvalidStag, ddp::kTaggedBounds});
}

void no_common_kind(Script& s) {
  const Setup setup = meet_peer_to_peer(s);
  const auto offered = s.peer_word();
  answer_with(s, setup, !offered.rtr_write, !offered.rtr_read, !offered.rtr_send);
  s.expect_terminate({mpa::kNoMatchingRtr});
}

void no_kind_named(Script& s) {
  answer_with(s, meet_peer_to_peer(s), false, false, false);
  s.expect_terminate({mpa::kNoMatchingRtr});
}

void no_rtr_with_a_0(Script& s) {
  Setup setup = s.await_peer();
  if (setup.revision != 2) throw Skipped{"the peer sends no enhanced Request (RFC 6581)"};
  if (setup.peer_to_peer) throw Skipped{"the peer requests peer-to-peer mode"};
  s.send_startup(setup);
  s.begin();
  const Segment first = first_segment(s);
  if (!first.is(rdmap::Opcode::kSend) || first.payload().empty()) {
    throw Failed{"a Send from the peer's program as the first FPDU", "another message"};
  }
}

void no_rtr_when_rejected(Script& s) {
  Octets frame = s.make_startup(meet_peer_to_peer(s));
  frame[kFlagsAt] |= kFlagR;
  s.octets(frame);
  expect_no_fpdu(s);
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/rtr/write", "RFC 6581 9.2", "EMPA-32 EMPA-38", "accepts a zero-length Write as the RTR", Level::kMust, PeerRole::kResponder, rtr_works<Rtr::kWrite>},
    {"mpa/rtr/read", "RFC 6581 9.2", "EMPA-32 EMPA-38", "accepts a zero-length Read as the RTR", Level::kMust, PeerRole::kResponder, rtr_works<Rtr::kRead>},
    {"mpa/rtr/send", "RFC 6581 9.2", "EMPA-32 EMPA-38", "accepts a zero-length Send as the RTR", Level::kMust, PeerRole::kResponder, rtr_works<Rtr::kSend>},
    {"mpa/rtr/read-answered", "RFC 6581 9.2", "EMPA-38 RDMAP-41", "answers a Read RTR with a zero-length Read Response to the RTR's sink", Level::kMust, PeerRole::kResponder, read_rtr_answered},
    {"mpa/rtr/write-stag-0", "RFC 5041 5.2", "EMPA-38 DDP-46", "accepts a Write RTR with STag 0", Level::kMust, PeerRole::kResponder, write_rtr_stag<0>},
    {"mpa/rtr/write-any-stag", "RFC 5041 5.2", "EMPA-38 DDP-46", "accepts a Write RTR with an arbitrary STag and TO", Level::kMust, PeerRole::kResponder, write_rtr_stag<0xFFFFFFFF>},
    {"mpa/rtr/read-stag-0", "RFC 5041 5.2", "EMPA-38 RDMAP-41", "accepts a Read RTR whose STags are 0", Level::kMust, PeerRole::kResponder, read_rtr_stag_0},
    {"mpa/rtr/waits-for-it", "RFC 6581 5", "MPA-93", "sends no FPDU before it has received the RTR", Level::kMust, PeerRole::kResponder, waits_for_rtr},
    {"mpa/rtr/split", "RFC 6581 9.2", "EMPA-38 MPA-56", "accepts an RTR that arrives in two TCP segments", Level::kMust, PeerRole::kResponder, rtr_split},
    {"mpa/rtr/with-the-next", "RFC 6581 9.2", "EMPA-38 MPA-56", "accepts an RTR and the next FPDU in one TCP segment", Level::kMust, PeerRole::kResponder, rtr_and_more},
    {"mpa/rtr/damaged", "RFC 5044 4.4", "MPA-46 MPA-93", "ends the stream when the RTR has a wrong CRC", Level::kMust, PeerRole::kResponder, damaged_rtr, kLast},
    {"mpa/rtr/other-kind", "RFC 6581 9.3", "EMPA-44", "accepts an RTR of a kind that was not agreed on, or ends the stream", Level::kShould, PeerRole::kResponder, other_kind_than_agreed},
    {"mpa/rtr/missing", "RFC 6581 9.3", "EMPA-44", "accepts a Send in place of the RTR, or ends the stream", Level::kShould, PeerRole::kResponder, no_rtr_at_all},
    {"mpa/rtr/sends-write", "RFC 6581 9.2", "EMPA-1 EMPA-38", "sends a zero-length Write as the RTR if the ends agree on Write", Level::kMust, PeerRole::kInitiator, sends_rtr<Rtr::kWrite>},
    {"mpa/rtr/sends-read", "RFC 6581 9.2", "EMPA-1 EMPA-38", "sends a zero-length Read as the RTR if the ends agree on Read", Level::kMust, PeerRole::kInitiator, sends_rtr<Rtr::kRead>},
    {"mpa/rtr/sends-send", "RFC 6581 9.2", "EMPA-1 EMPA-38", "sends a zero-length Send as the RTR if the ends agree on Send", Level::kMust, PeerRole::kInitiator, sends_rtr<Rtr::kSend>},
    {"mpa/rtr/read-overfilled", "RFC 5041 7.1", "DDP-73 DDP-76", "terminates if the Read Response to a zero-length Read has a payload", Level::kMust, PeerRole::kInitiator, read_rtr_overfilled},
    {"mpa/rtr/sends-one", "RFC 6581 9.2", "EMPA-36 EMPA-38", "sends exactly one RTR, of a kind that it offered", Level::kMust, PeerRole::kInitiator, sends_one_rtr},
    {"mpa/rtr/none-common", "RFC 6581 9.2", "EMPA-14 EMPA-39", "terminates when the Reply names only RTR kinds that the Request did not offer", Level::kMust, PeerRole::kInitiator, no_common_kind},
    {"mpa/rtr/none-named", "RFC 6581 9.2", "EMPA-14 EMPA-39", "terminates when the Reply names no RTR kind", Level::kMust, PeerRole::kInitiator, no_kind_named},
    {"mpa/rtr/none-with-a-0", "RFC 6581 9.2", "EMPA-38 EMPA-40", "sends no RTR in client-server mode", Level::kMust, PeerRole::kInitiator, no_rtr_with_a_0},
    {"mpa/rtr/none-when-rejected", "RFC 6581 9.2", "EMPA-38 MPA-91", "sends no RTR when its Request is rejected", Level::kMust, PeerRole::kInitiator, no_rtr_when_rejected},
};
// clang-format on

}  // namespace
}  // namespace mpa_enhanced_rtr

std::span<const Case> rtr_cases() { return mpa_enhanced_rtr::kCases; }

}  // namespace iwarp::apps::conform
