// SPDX-License-Identifier: Apache-2.0
// Cases about a peer that connects: its Request, and how it handles Replies (RFC 5044 section 7.1).
#include <fmt/format.h>

#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {
namespace mpa_reply {
namespace {

using namespace std::chrono_literals;

std::byte request_flags(const Script& s) { return s.peer_startup_octets()[kFlagsAt]; }

// Request -----------------------------------------------------------------------------------------

void request_first(Script& s) { s.await_peer(); }

void request_flag_r(Script& s) {
  s.await_peer();
  if ((request_flags(s) & kFlagR) != std::byte{0})
    throw Failed{"a Request with R=0", "a Request with R=1"};
}

void request_revision(Script& s) {
  s.open();
  const auto request = s.expect_startup();
  if (request.revision == 1 && !request.enhanced) return;
  if (request.revision == 2 && request.enhanced) return;
  throw Failed{
      "a Request of revision 1 with S=0, or of revision 2 with S=1",
      fmt::format("a Request of revision {} with S={:d}", request.revision, request.enhanced)};
}

void request_then_silence(Script& s) {
  const Setup setup = s.await_peer();
  s.expect_silence();
  s.send_startup(setup);
  carry_on(s, setup);
}

// Invalid Replies ---------------------------------------------------------------------------------

// Receives the peer's Request. Returns a valid Reply that has not been sent, so that the case can
// corrupt it.
Octets good_reply(Script& s, std::size_t private_data = 0) {
  return s.make_startup(s.await_peer({.private_data = pattern(private_data)}));
}

void gives_up_on(Script& s, bytes::View frame) {
  s.octets(frame);
  expect_give_up(s);
}

template <std::size_t At>
void wrong_key_octet(Script& s) {
  Octets frame = good_reply(s);
  frame[At] ^= std::byte{0x20};
  gives_up_on(s, frame);
}

void request_for_reply(Script& s) {
  Octets frame = good_reply(s);
  frame[9] = std::byte{'q'};  // the value in a Request's key, "MPA ID Req Frame"
  gives_up_on(s, frame);
}

void silent_on_malformed(Script& s) {
  Octets frame = good_reply(s);
  frame[15] ^= std::byte{0x20};
  s.octets(frame);
  s.expect_refusal();
}

template <unsigned Revision>
void unknown_revision(Script& s) {
  Octets frame = good_reply(s);
  frame[kRevisionAt] = std::byte{Revision};
  gives_up_on(s, frame);
}

template <std::size_t Length>
void too_much_private_data(Script& s) {
  Octets frame = good_reply(s);
  frame.resize(mpa::kStartupHeaderSize + Length);
  set_length(frame, Length);
  s.extend(10s);
  gives_up_on(s, frame);
  expect_next_works(s);
}

void length_65535_alone(Script& s) {
  Octets frame = good_reply(s);
  set_length(frame, 65535);
  s.extend(10s);
  gives_up_on(s, frame);
  expect_next_works(s);
}

template <std::size_t Length>
void truncated(Script& s) {
  const Octets frame = good_reply(s, 16);
  s.octets(bytes::View(frame).first(Length));
  s.half_close();
  expect_give_up(s);
}

void excess_octets(Script& s) {
  Octets frame = good_reply(s);
  Framing framing;
  const auto more = make_fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), framing,
                              {.crc_xor = 0x01010101});
  frame.insert(frame.end(), more.begin(), more.end());
  s.octets(frame);
  s.expect_end();
}

// Valid Replies -----------------------------------------------------------------------------------

// Sends a Reply whose private data has `Total` octets, including the enhanced word of revision 2.
template <std::size_t Total>
void private_data(Script& s) {
  Setup setup = s.await_peer();
  setup.private_data = pattern(Total - (setup.revision == 2 ? mpa::kEnhancedWordSize : 0));
  s.send_startup(setup);
  carry_on(s, setup);
}

void goes_on(Script& s) {
  s.establish();
  learn_memory(s);
}

template <std::size_t Length>
void rejected(Script& s) {
  Octets frame = good_reply(s, Length);
  frame[kFlagsAt] |= kFlagR;
  s.octets(frame);
  expect_no_fpdu(s);
}

void crc_in_request_only(Script& s) {
  Setup setup = s.await_peer();
  if ((request_flags(s) & kFlagC) == std::byte{0}) throw Skipped{"the peer does not request CRCs"};
  setup.crc = false;
  s.send_startup(setup);
  s.begin(setup.peer_to_peer ? setup.rtr : mpa::Rtr::kNone);
  learn_memory(s);
  s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), {.crc_xor = 1});
  s.expect_terminate({mpa::kCrcMismatch});
}

// Endings and time --------------------------------------------------------------------------------

void closed_instead(Script& s) {
  s.await_peer();
  s.half_close();
  s.expect_refusal();
}

void silence(Script& s) {
  s.await_peer();
  s.extend(15s);
  s.expect_refusal();
}

void slow_reply(Script& s) {
  const Octets frame = good_reply(s, 64);
  s.extend(15s);
  for (const std::byte octet : bytes::View(frame).first(36)) {
    s.octets(bytes::View(&octet, 1));
    const Received received = s.receive(500ms);
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
    if (received.kind != Received::Kind::kNothing)
      throw Failed{"the end of the connection", describe(received)};
  }
  throw Failed{"the end of the connection",
               "no answer and no close within 18 s, while the tester sends two octets per second"};
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/initiator/request-first", "RFC 5044 7.1.2", "MPA-65 MPA-81", "sends a valid Request first", Level::kMust, PeerRole::kInitiator, request_first},
    {"mpa/initiator/request-reject-flag", "RFC 5044 7.1.1", "MPA-73", "sends R=0 in its Request", Level::kMust, PeerRole::kInitiator, request_flag_r},
    {"mpa/initiator/request-revision", "RFC 6581 6", "MPA-75 EMPA-4 EMPA-5 EMPA-47", "sends a Request of revision 1 with S=0, or of revision 2 with S=1", Level::kMust, PeerRole::kInitiator, request_revision},
    {"mpa/initiator/waits-for-reply", "RFC 5044 7.1.2", "MPA-78 MPA-89", "sends nothing after its Request until the Reply arrives", Level::kMust, PeerRole::kInitiator, request_then_silence},
    {"mpa/initiator/goes-on", "RFC 5044 7.1.2", "MPA-92", "sends its first FPDU after a Reply with R=0", Level::kMust, PeerRole::kInitiator, goes_on},
    {"mpa/initiator/key-first-octet", "RFC 5044 7.1.1", "MPA-68 MPA-90 MPA-94", "ends the connection on a Reply whose key has a wrong first octet", Level::kMust, PeerRole::kInitiator, wrong_key_octet<0>},
    {"mpa/initiator/key-last-octet", "RFC 5044 7.1.1", "MPA-68 MPA-90 MPA-94", "ends the connection on a Reply whose key has a wrong last octet", Level::kMust, PeerRole::kInitiator, wrong_key_octet<15>},
    {"mpa/initiator/request-instead", "RFC 5044 7.1.2", "MPA-68 MPA-98", "ends the connection on a Request in place of a Reply", Level::kMust, PeerRole::kInitiator, request_for_reply},
    {"mpa/initiator/malformed-no-fpdu", "RFC 5044 8", "MPA-90 MPA-111", "closes the connection on a malformed Reply, without sending an FPDU", Level::kShould, PeerRole::kInitiator, silent_on_malformed},
    {"mpa/initiator/revision-0", "RFC 5044 7.1.1", "MPA-76 MPA-77", "ends the connection on a Reply of revision 0", Level::kMust, PeerRole::kInitiator, unknown_revision<0>},
    {"mpa/initiator/revision-3", "RFC 5044 7.1.1", "MPA-76 MPA-77", "ends the connection on a Reply of revision 3", Level::kMust, PeerRole::kInitiator, unknown_revision<3>},
    {"mpa/initiator/revision-255", "RFC 5044 7.1.1", "MPA-76 MPA-77", "ends the connection on a Reply of revision 255", Level::kMust, PeerRole::kInitiator, unknown_revision<255>},
    {"mpa/initiator/private-data-5", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Reply with 5 octets of private data", Level::kMust, PeerRole::kInitiator, private_data<5>},
    {"mpa/initiator/private-data-256", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Reply with 256 octets of private data", Level::kMust, PeerRole::kInitiator, private_data<256>},
    {"mpa/initiator/private-data-257", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Reply with 257 octets of private data", Level::kMust, PeerRole::kInitiator, private_data<257>, kLast},
    {"mpa/initiator/private-data-512", "RFC 5044 7.1.1", "MPA-79 MPA-80 EMPA-10", "accepts a Reply with 512 octets of private data", Level::kMust, PeerRole::kInitiator, private_data<512>, kLast},
    {"mpa/initiator/private-data-513", "RFC 5044 7.1.1", "MPA-79 MPA-90 MPA-101", "ends the connection on a Reply with 513 octets of private data", Level::kMust, PeerRole::kInitiator, too_much_private_data<513>, kLast},
    {"mpa/initiator/private-data-65535", "RFC 5044 7.1.1", "MPA-79 MPA-100", "ends the connection on a Reply with 65535 octets of private data", Level::kMust, PeerRole::kInitiator, too_much_private_data<65535>, kLast},
    {"mpa/initiator/length-65535-alone", "RFC 5044 7.1.1", "MPA-79 MPA-101", "ends the connection on a Reply with PD_Length 65535 but no private data", Level::kMust, PeerRole::kInitiator, length_65535_alone, kLast},
    {"mpa/initiator/truncated-key", "RFC 5044 7.1.2", "MPA-90 MPA-100", "ends the connection on a Reply that ends inside the key", Level::kMust, PeerRole::kInitiator, truncated<10>},
    {"mpa/initiator/truncated-header", "RFC 5044 7.1.2", "MPA-90 MPA-100", "ends the connection on a Reply that ends before PD_Length", Level::kMust, PeerRole::kInitiator, truncated<18>},
    {"mpa/initiator/truncated-private-data", "RFC 5044 7.1.2", "MPA-79 MPA-100 MPA-101", "ends the connection on a Reply that ends inside the private data", Level::kMust, PeerRole::kInitiator, truncated<30>},
    {"mpa/initiator/more-than-said", "RFC 5044 7.1.1", "MPA-79 MPA-101", "ends the stream when invalid octets follow the Reply", Level::kMust, PeerRole::kInitiator, excess_octets},
    {"mpa/initiator/rejected", "RFC 5044 7.1.2", "MPA-91", "sends no FPDU after a Reply with R=1", Level::kMust, PeerRole::kInitiator, rejected<0>},
    {"mpa/initiator/rejected-with-data", "RFC 5044 7.1.2", "MPA-91", "sends no FPDU after a Reply with R=1 and private data", Level::kMust, PeerRole::kInitiator, rejected<100>},
    {"mpa/initiator/crc-in-request-only", "RFC 5044 7.1.1", "MPA-72", "uses CRCs after a Request with C=1, even if the Reply has C=0", Level::kMust, PeerRole::kInitiator, crc_in_request_only},
    {"mpa/initiator/fin-instead", "RFC 5044 8", "MPA-108", "closes the connection on a FIN in place of a Reply", Level::kMust, PeerRole::kInitiator, closed_instead},
    {"mpa/initiator/never", "RFC 5044 7.1.2", "MPA-102", "eventually closes the connection when no Reply arrives", Level::kShould, PeerRole::kInitiator, silence},
    {"mpa/initiator/octet-now-and-then", "RFC 5044 7.1.2", "MPA-102", "eventually closes the connection if the Reply arrives at 2 octets per second", Level::kShould, PeerRole::kInitiator, slow_reply},
};
// clang-format on

}  // namespace
}  // namespace mpa_reply

std::span<const Case> reply_cases() { return mpa_reply::kCases; }

}  // namespace iwarp::apps::conform
