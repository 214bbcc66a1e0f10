// SPDX-License-Identifier: Apache-2.0
// Cases that apply to both Requests and Replies: segmentation, reserved flags, C and M (RFC 5044
// sections 4.3, 4.4 and 7.1).
#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {
namespace mpa_startup {
namespace {

using namespace std::chrono_literals;

// Segmentation ------------------------------------------------------------------------------------

void one_octet_pieces(Script& s) {
  const Setup setup = s.await_peer({.private_data = pattern(16)});
  for (const std::byte octet : s.make_startup(setup)) s.octets(bytes::View(&octet, 1));
  carry_on(s, setup);
}

void split_at(Script& s, std::size_t at) {
  const Setup setup = s.await_peer({.private_data = pattern(16)});
  const Octets frame = s.make_startup(setup);
  s.octets(bytes::View(frame).first(at));
  s.expect_silence(50ms);
  s.octets(bytes::View(frame).subspan(at));
  carry_on(s, setup);
}

void split_in_key(Script& s) { split_at(s, 10); }
void split_before_private_data(Script& s) { split_at(s, mpa::kStartupHeaderSize); }
void split_in_private_data(Script& s) { split_at(s, mpa::kStartupHeaderSize + 5); }

// Flags -------------------------------------------------------------------------------------------

void reserved_flags_ignored(Script& s) {
  const Setup setup = s.await_peer();
  Octets frame = s.make_startup(setup);
  frame[kFlagsAt] |= kReservedFlags;
  s.octets(frame);
  carry_on(s, setup);
}

void reserved_flags_zero(Script& s) {
  s.await_peer();
  if (s.peer_role() == PeerRole::kResponder) {
    Octets frame = s.make_startup(Setup{});
    frame[kFlagsAt] |= kReservedFlags;
    s.octets(frame);
    s.expect_startup();
    s.begin();
  }
  if ((s.peer_startup_octets()[kFlagsAt] & kReservedFlags) != std::byte{0}) {
    throw Failed{"zero in the four reserved flag bits", "reserved flag bits that are set"};
  }
}

// C -----------------------------------------------------------------------------------------------

bool peer_asks_for_crc(const Script& s) {
  return (s.peer_startup_octets()[kFlagsAt] & kFlagC) != std::byte{0};
}

void establish_without_c(Script& s) {
  const Setup setup = s.await_peer({.crc = false});
  if (setup.crc) throw Skipped{"the peer requests CRCs"};
  s.send_startup(setup);
  s.expect_accept();
  s.begin(setup.peer_to_peer ? setup.rtr : mpa::Rtr::kNone);
}

void crc_by_default(Script& s) {
  s.await_peer({.crc = false});
  if (s.peer_role() == PeerRole::kResponder) {
    s.send_startup(Setup{.crc = false});
    s.expect_startup();
    s.begin();
  }
  if (!peer_asks_for_crc(s)) throw Failed{"C=1, unless the peer is configured otherwise", "C=0"};
}

void expect_wrong_crc_caught(Script& s) {
  const auto memory = learn_memory(s);
  const Tamper wrong{.crc_xor = 0x00010000};
  s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, memory.stag, memory.to), pattern(8)), wrong);
  s.expect_terminate({mpa::kCrcMismatch});
}

void crc_when_we_ask(Script& s) {
  s.establish({.crc = true});
  expect_wrong_crc_caught(s);
}

void crc_when_peer_asks(Script& s) {
  establish_without_c(s);
  if (!peer_asks_for_crc(s)) throw Skipped{"the peer does not request CRCs"};
  expect_wrong_crc_caught(s);
}

void crc_off_on_both_sides(Script& s) {
  establish_without_c(s);
  if (peer_asks_for_crc(s)) throw Skipped{"the peer requests CRCs"};
  const auto memory = learn_memory(s);
  for (const std::uint32_t field : {0U, 1U, 0xDEADBEEFU, 0xFFFFFFFFU}) {
    s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, memory.stag, memory.to), {}),
           {.crc_xor = field});
  }
  finish_exchange(s, memory);
}

// M -----------------------------------------------------------------------------------------------

void markers_demanded(Script& s) {
  const Setup setup = s.await_peer({.markers = true});
  s.send_startup(setup);
  carry_on(s, setup);
}

void markers_not_demanded(Script& s) {
  const Setup setup = s.await_peer({.markers = false});
  s.send_startup(setup);
  s.expect_accept();
  s.begin(setup.peer_to_peer ? setup.rtr : mpa::Rtr::kNone);
  exchange(s);
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/startup/one-octet-pieces", "RFC 5044 7.1.2", "MPA-56 MPA-100", "accepts a startup frame that arrives octet by octet", Level::kMust, PeerRole::kEither, one_octet_pieces},
    {"mpa/startup/split-in-key", "RFC 5044 7.1.2", "MPA-56 MPA-100", "accepts a startup frame whose key arrives in two TCP segments", Level::kMust, PeerRole::kEither, split_in_key},
    {"mpa/startup/split-before-private-data", "RFC 5044 7.1.2", "MPA-56 MPA-100", "accepts a startup frame whose private data arrives in a later TCP segment", Level::kMust, PeerRole::kEither, split_before_private_data},
    {"mpa/startup/split-in-private-data", "RFC 5044 7.1.2", "MPA-56 MPA-100", "accepts a startup frame whose private data arrives in two TCP segments", Level::kMust, PeerRole::kEither, split_in_private_data},
    {"mpa/startup/reserved-flags-ignored", "RFC 5044 7.1.1", "MPA-74", "ignores the reserved flag bits of a startup frame", Level::kMust, PeerRole::kEither, reserved_flags_ignored},
    {"mpa/startup/reserved-flags-zero", "RFC 5044 7.1.1", "MPA-74", "sends zero in the reserved flag bits of its startup frame", Level::kMust, PeerRole::kEither, reserved_flags_zero},
    {"mpa/startup/crc-by-default", "RFC 5044 4.4", "MPA-2 MPA-36", "requests CRCs, unless it is configured otherwise", Level::kMust, PeerRole::kEither, crc_by_default},
    {"mpa/startup/crc-when-we-ask", "RFC 5044 7.1.1", "MPA-37 MPA-40 MPA-72", "sends and checks CRCs when the tester's startup frame has C=1", Level::kMust, PeerRole::kEither, crc_when_we_ask},
    {"mpa/startup/crc-when-peer-asks", "RFC 5044 7.1.1", "MPA-37 MPA-72", "sends and checks CRCs when only its own startup frame has C=1", Level::kMust, PeerRole::kResponder, crc_when_peer_asks},
    {"mpa/startup/crc-off", "RFC 5044 4.4", "MPA-17 MPA-18 MPA-41 MPA-71", "ignores the CRC field when both startup frames have C=0", Level::kMust, PeerRole::kEither, crc_off_on_both_sides},
    {"mpa/startup/markers-demanded", "RFC 5044 4.3", "MPA-24 MPA-70 MPA-97", "inserts markers when the tester's startup frame has M=1", Level::kMust, PeerRole::kEither, markers_demanded},
    {"mpa/startup/markers-not-demanded", "RFC 5044 7.1.1", "MPA-69", "inserts no markers when the tester's startup frame has M=0", Level::kMust, PeerRole::kEither, markers_not_demanded},
};
// clang-format on

}  // namespace
}  // namespace mpa_startup

std::span<const Case> startup_cases() { return mpa_startup::kCases; }

}  // namespace iwarp::apps::conform
