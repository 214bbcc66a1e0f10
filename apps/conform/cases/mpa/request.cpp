// SPDX-License-Identifier: Apache-2.0
// Cases about MPA Requests: how a peer that listens answers them (RFC 5044 section 7.1).
#include <fmt/format.h>

#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {
namespace mpa_request {
namespace {

using namespace std::chrono_literals;

constexpr Setup kPlain{.revision = 1};

// Key ---------------------------------------------------------------------------------------------

void refused(Script& s, bytes::View frame) {
  s.octets(frame);
  s.expect_refusal();
}

void wrong_key(Script& s) {
  s.open();
  refused(s, Octets(mpa::kStartupHeaderSize, std::byte{0x58}));
}

template <std::size_t At>
void wrong_key_octet(Script& s) {
  s.open();
  Octets frame = s.make_startup(Setup{});
  frame[At] ^= std::byte{0x20};
  refused(s, frame);
}

void reply_for_request(Script& s) {
  s.open();
  Octets frame = s.make_startup(kPlain);
  frame[9] = std::byte{'p'};  // the value in a Reply's key, "MPA ID Rep Frame"
  refused(s, frame);
}

void other_protocol(Script& s) {
  constexpr std::string_view kHttp = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  s.open();
  refused(s, std::as_bytes(std::span(kHttp)));
}

// Length and private data -------------------------------------------------------------------------

template <std::size_t Length>
void private_data(Script& s) {
  s.open();
  Setup setup = kPlain;
  setup.private_data = pattern(Length);
  s.send_startup(setup);
  if (answered(s)) expect_full_operation(s);
}

template <std::size_t Length>
void private_data_enhanced(Script& s) {
  s.open();
  s.send_startup(Setup{.private_data = pattern(Length - mpa::kEnhancedWordSize)});
  if (!answered(s)) return;
  s.begin();
  exchange(s);
}

template <std::size_t Length>
void too_much_private_data(Script& s) {
  s.open();
  Octets frame = s.make_startup(kPlain);
  frame.resize(mpa::kStartupHeaderSize + Length);
  set_length(frame, Length);
  s.extend(10s);
  refused(s, frame);
}

void length_65535_alone(Script& s) {
  s.open();
  Octets frame = s.make_startup(kPlain);
  set_length(frame, 65535);
  s.extend(10s);
  refused(s, frame);
}

template <std::size_t Length>
void truncated(Script& s) {
  s.open();
  s.extend(10s);
  const Octets frame = s.make_startup(Setup{.private_data = pattern(16)});
  s.octets(bytes::View(frame).first(Length));
  s.half_close();
  s.expect_refusal();
  expect_next_works(s);
}

// Sends more private data than the Request's PD_Length says. The peer may treat the excess octets
// as too much private data or as an invalid first FPDU; both are errors.
void excess_octets(Script& s) {
  s.open();
  Octets frame = s.make_startup(kPlain);
  Framing framing;
  const auto more = make_fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), framing,
                              {.crc_xor = 0x01010101});
  frame.insert(frame.end(), more.begin(), more.end());
  s.octets(frame);
  s.expect_end();
}

void fpdu_behind_request(Script& s) {
  s.open();
  Octets frame = s.make_startup(Setup{});
  Framing framing;
  const auto early = make_fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), framing);
  frame.insert(frame.end(), early.begin(), early.end());
  s.octets(frame);
  if (!s.startup_or_end()) return;
  s.begin();
  s.write(1, 0, {});
  s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, 1, 0), {}), {.crc_xor = 1});
  s.expect_end();
}

// Flags and revision ------------------------------------------------------------------------------

void rejected_flag(Script& s) {
  s.open();
  Octets frame = s.make_startup(Setup{});
  frame[kFlagsAt] |= kFlagR;
  s.octets(frame);
  if (!answered(s)) throw Failed{"an MPA Reply with R=0", "an MPA Reply with R=1"};
  s.begin();
  exchange(s);
}

void revision_0(Script& s) {
  s.open();
  Octets frame = s.make_startup(kPlain);
  frame[kRevisionAt] = std::byte{0};
  s.octets(frame);
  const auto reply = s.startup_or_end();
  if (!reply) return;
  s.begin();
  if (reply->revision == 0)
    throw Skipped{"the peer supports revision 0, the RDMA Consortium's protocol"};
  throw Failed{"the end of the connection",
               fmt::format("an MPA Reply of revision {}", reply->revision)};
}

template <unsigned Revision>
void unknown_revision(Script& s) {
  s.open();
  Octets frame = s.make_startup(Setup{});
  frame[kRevisionAt] = std::byte{Revision};
  refused(s, frame);
}

// Reply -------------------------------------------------------------------------------------------

void waits_for_request(Script& s) {
  s.open();
  s.expect_silence();
  s.send_startup(Setup{});
  carry_on(s, {});
}

void reply_well_formed(Script& s) {
  s.open();
  s.send_startup(Setup{});
  s.expect_accept();
  if ((s.peer_startup_octets()[kFlagsAt] & kReservedFlags) != std::byte{0}) {
    throw Failed{"zero in the four reserved flag bits", "reserved flag bits that are set"};
  }
  s.expect_silence();
}

void no_fpdu_before_ours(Script& s) {
  s.establish();
  s.expect_silence();
  exchange(s);
}

void no_marker_before_our_fpdu(Script& s) {
  s.establish_or_skip({.markers = true}, "markers");
  s.expect_silence();
  exchange(s);
}

void fpdu_at_once(Script& s) {
  if (s.target().first_fpdu_delay != 0ms) {
    throw Skipped{"--first-fpdu-delay is set, so no FPDU directly follows the Reply"};
  }
  for (int i = 0; i < 5; ++i) {
    s.establish();
    exchange(s);
  }
}

void plain_request(Script& s) {
  s.open();
  s.send_startup(kPlain);
  const auto reply = s.expect_accept();
  if (reply.revision != 1 || reply.enhanced) {
    throw Failed{"a Reply of revision 1 with S=0",
                 fmt::format("a Reply of revision {} with S={:d}", reply.revision, reply.enhanced)};
  }
  expect_full_operation(s);
}

// Endings and time --------------------------------------------------------------------------------

void closed_behind_request(Script& s) {
  s.open();
  s.send_startup(Setup{});
  s.half_close();
  s.expect_end();
  expect_next_works(s);
}

void reset_and_next(Script& s) {
  s.open();
  s.send_startup(Setup{});
  s.reset();
  s.open();
  s.octets(bytes::View(s.make_startup(Setup{})).first(7));
  s.reset();
  expect_next_works(s);
}

void silence(Script& s) {
  s.open();
  s.extend(10s);
  s.expect_refusal();
}

void slow_request(Script& s) {
  s.open();
  s.extend(12s);
  const Octets frame = s.make_startup(Setup{.private_data = pattern(64)});
  for (const std::byte octet : bytes::View(frame).first(32)) {
    s.octets(bytes::View(&octet, 1));
    const Received received = s.receive(500ms);
    if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset) return;
    if (received.kind != Received::Kind::kNothing)
      throw Failed{"the end of the connection", describe(received)};
  }
  throw Failed{"the end of the connection",
               "no answer and no close within 16 s, while the tester sends two octets per second"};
}

void slow_neighbour(Script& s) {
  s.open();
  s.octets(bytes::View(s.make_startup(Setup{})).first(10));
  Script other(s.target());
  other.establish();
  exchange(other);
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/request/wrong-key", "RFC 5044 7.1.1", "MPA-66 MPA-84", "closes the connection on a Request with a wrong key", Level::kMust, PeerRole::kResponder, wrong_key},
    {"mpa/request/key-first-octet", "RFC 5044 7.1.1", "MPA-66 MPA-84 MPA-94", "closes the connection on a Request whose key has a wrong first octet", Level::kMust, PeerRole::kResponder, wrong_key_octet<0>},
    {"mpa/request/key-last-octet", "RFC 5044 7.1.1", "MPA-66 MPA-84 MPA-94", "closes the connection on a Request whose key has a wrong last octet", Level::kMust, PeerRole::kResponder, wrong_key_octet<15>},
    {"mpa/request/reply-instead", "RFC 5044 7.1.2", "MPA-66 MPA-94", "closes the connection on a Reply in place of a Request", Level::kMust, PeerRole::kResponder, reply_for_request},
    {"mpa/request/other-protocol", "RFC 5044 7.1.2", "MPA-66 MPA-111", "closes the connection if the first octets belong to another protocol", Level::kMust, PeerRole::kResponder, other_protocol},
    {"mpa/request/private-data-1", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Request with 1 octet of private data", Level::kMust, PeerRole::kResponder, private_data<1>},
    {"mpa/request/private-data-256", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Request with 256 octets of private data", Level::kMust, PeerRole::kResponder, private_data<256>},
    {"mpa/request/private-data-257", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Request with 257 octets of private data", Level::kMust, PeerRole::kResponder, private_data<257>},
    {"mpa/request/private-data-512", "RFC 5044 7.1.1", "MPA-79 MPA-80", "accepts a Request with 512 octets of private data", Level::kMust, PeerRole::kResponder, private_data<512>},
    {"mpa/request/private-data-513", "RFC 5044 7.1.1", "MPA-79 MPA-84 MPA-101", "closes the connection on a Request with 513 octets of private data", Level::kMust, PeerRole::kResponder, too_much_private_data<513>},
    {"mpa/request/private-data-65535", "RFC 5044 7.1.1", "MPA-79 MPA-100", "closes the connection on a Request with 65535 octets of private data", Level::kMust, PeerRole::kResponder, too_much_private_data<65535>},
    {"mpa/request/length-65535-alone", "RFC 5044 7.1.1", "MPA-79 MPA-101", "closes the connection on a Request with PD_Length 65535 but no private data", Level::kMust, PeerRole::kResponder, length_65535_alone},
    {"mpa/request/truncated-key", "RFC 5044 7.1.2", "MPA-84 MPA-100", "closes the connection on a Request that ends inside the key", Level::kMust, PeerRole::kResponder, truncated<10>, kLast},
    {"mpa/request/truncated-header", "RFC 5044 7.1.2", "MPA-84 MPA-100", "closes the connection on a Request that ends before PD_Length", Level::kMust, PeerRole::kResponder, truncated<18>, kLast},
    {"mpa/request/truncated-private-data", "RFC 5044 7.1.2", "MPA-79 MPA-100 MPA-101", "closes the connection on a Request that ends inside the private data", Level::kMust, PeerRole::kResponder, truncated<30>, kLast},
    {"mpa/request/more-than-said", "RFC 5044 7.1.1", "MPA-79 MPA-101", "ends the stream if a Request has more private data than PD_Length says", Level::kMust, PeerRole::kResponder, excess_octets},
    {"mpa/request/fpdu-behind", "RFC 5044 7.1.2", "MPA-84", "accepts an FPDU that directly follows the Request, or closes the connection", Level::kShould, PeerRole::kResponder, fpdu_behind_request},
    {"mpa/request/reject-flag-ignored", "RFC 5044 7.1.1", "MPA-73", "ignores R=1 in a Request, and sends R=0 in its Reply", Level::kMust, PeerRole::kResponder, rejected_flag},
    {"mpa/request/revision-0", "RFC 5044 7.1.1", "MPA-76 MPA-77 MPA-118", "closes the connection on a Request of revision 0, or supports revision 0", Level::kMust, PeerRole::kResponder, revision_0},
    {"mpa/request/revision-3", "RFC 5044 7.1.1", "MPA-76 MPA-77", "closes the connection on a Request of revision 3", Level::kMust, PeerRole::kResponder, unknown_revision<3>},
    {"mpa/request/revision-255", "RFC 5044 7.1.1", "MPA-76 MPA-77", "closes the connection on a Request of revision 255", Level::kMust, PeerRole::kResponder, unknown_revision<255>},
    {"mpa/request/plain", "RFC 6581 10", "EMPA-6 EMPA-46 EMPA-48", "answers a Request of revision 1 with a Reply of revision 1", Level::kMust, PeerRole::kResponder, plain_request},
    {"mpa/request/total-256", "RFC 6581 7", "EMPA-10", "accepts an enhanced Request with 256 octets of private data", Level::kMust, PeerRole::kResponder, private_data_enhanced<256>},
    {"mpa/request/total-512", "RFC 6581 7", "EMPA-10", "accepts an enhanced Request with 512 octets of private data", Level::kMust, PeerRole::kResponder, private_data_enhanced<512>},
    {"mpa/reply/waits-for-request", "RFC 5044 7.1.2", "MPA-83", "sends nothing before it has received a Request", Level::kMust, PeerRole::kResponder, waits_for_request},
    {"mpa/reply/well-formed", "RFC 5044 7.1.1", "MPA-67 MPA-74 MPA-78", "sends a Reply whose key, reserved flag bits and PD_Length are correct", Level::kMust, PeerRole::kResponder, reply_well_formed},
    {"mpa/reply/no-fpdu-first", "RFC 5044 7.1.2", "MPA-93", "sends no FPDU before it has received an FPDU", Level::kMust, PeerRole::kResponder, no_fpdu_before_ours},
    {"mpa/reply/no-marker-first", "RFC 5044 7.1.2", "MPA-93", "sends no marker before it has received an FPDU", Level::kMust, PeerRole::kResponder, no_marker_before_our_fpdu},
    {"mpa/reply/fpdu-at-once", "RFC 5044 7.1.2", "MPA-64 MPA-88", "accepts an FPDU immediately after its Reply, on each of five connections", Level::kShould, PeerRole::kResponder, fpdu_at_once},
    {"mpa/request/then-fin", "RFC 5044 8", "MPA-108", "closes the connection on a FIN after the Request", Level::kMust, PeerRole::kResponder, closed_behind_request, kLast},
    {"mpa/request/then-reset", "RFC 5044 8", "MPA-108", "serves a new connection after two connections were reset during startup", Level::kMust, PeerRole::kResponder, reset_and_next, kLast},
    {"mpa/request/slow-neighbour", "RFC 5044 7.1.2", "MPA-83", "serves other connections while a Request is incomplete", Level::kShould, PeerRole::kResponder, slow_neighbour},
    {"mpa/request/never", "RFC 5044 7.1.2", "MPA-99", "eventually closes the connection when no Request arrives", Level::kShould, PeerRole::kResponder, silence, kLast},
    {"mpa/request/octet-now-and-then", "RFC 5044 7.1.2", "MPA-102", "eventually closes the connection if the Request arrives at 2 octets per second", Level::kShould, PeerRole::kResponder, slow_request, kLast},
};
// clang-format on

}  // namespace
}  // namespace mpa_request

std::span<const Case> request_cases() { return mpa_request::kCases; }

}  // namespace iwarp::apps::conform
