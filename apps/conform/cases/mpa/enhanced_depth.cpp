// SPDX-License-Identifier: Apache-2.0
// Cases about IRD and ORD: the values that the peer sends in Requests and Replies, and whether the
// peer honours them afterwards (RFC 6581 section 9.1).
#include <fmt/format.h>

#include <algorithm>

#include "common/connection/advert.hpp"
#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::apps::conform {
namespace mpa_enhanced_depth {
namespace {

using namespace std::chrono_literals;
using mpa::EnhancedWord;
using mpa::kNoNegotiation;

constexpr std::uint16_t kMost = kNoNegotiation - 1;
constexpr std::size_t kLongestBurst = 128;

// The peer listens --------------------------------------------------------------------------------

EnhancedWord answer_to(Script& s, std::uint16_t ird, std::uint16_t ord) {
  if (!s.establish({.ird = ird, .ord = ord}).enhanced)
    throw Skipped{"the peer sends no enhanced Replies (RFC 6581)"};
  return s.peer_word();
}

// Expects that the ORD in the peer's Reply does not exceed the tester's IRD. An ORD of 0x3FFF means
// that the peer does not negotiate. In this case the peer need not respect the IRD.
void expect_ord_within(const EnhancedWord& word, std::uint16_t ird) {
  if (word.ord <= ird || word.ord == kNoNegotiation) return;
  throw Failed{fmt::format("an ORD of at most {}, the tester's IRD", ird),
               fmt::format("an ORD of {}", word.ord)};
}

template <std::uint16_t Ird>
void ord_within_our_ird(Script& s) {
  expect_ord_within(answer_to(s, Ird, 16), Ird);
  if (Ird != 0) exchange(s);
}

void not_mixed_up(Script& s) {
  expect_ord_within(answer_to(s, 3, 100), 3);
  exchange(s);
}

void no_read_without_ird(Script& s) {
  answer_to(s, 0, 16);
  s.serve(Script::Serve::kNothing);
  s.send(encode(Advert{Script::kOurTo, verbs::Stag{Script::kOurStag}, kExchangeSize}));
  const Received received = s.receive(500ms);
  if (received.segment && received.segment->is(rdmap::Opcode::kReadRequest)) {
    throw Failed{"no Read Request, because the tester's IRD is 0", "a Read Request"};
  }
}

// Sends a burst of Reads and expects all responses. The number of Reads is limited by the IRD of
// the Reply and by the ORD of the tester's Request.
template <std::uint16_t Ord>
void ird_is_there(Script& s) {
  const auto word = answer_to(s, 16, Ord);
  if (word.ird == kNoNegotiation) throw Skipped{"the peer does not negotiate its IRD"};
  if (word.ird == 0) throw Skipped{"the peer accepts no Reads, because its IRD is 0"};
  read_burst(s, std::min<std::size_t>({word.ird, Ord, kLongestBurst}));
  exchange(s);
}

void no_reads_wanted(Script& s) {
  answer_to(s, 16, 0);
  exchange(s);
}

void ord_not_negotiated(Script& s) {
  const auto word = answer_to(s, 16, kNoNegotiation);
  if (word.ird != kNoNegotiation) {
    throw Failed{"IRD 0x3FFF in answer to ORD 0x3FFF", fmt::format("IRD {}", word.ird)};
  }
}

void ird_not_negotiated(Script& s) {
  const auto word = answer_to(s, kNoNegotiation, 16);
  if (word.ord != kNoNegotiation) {
    throw Failed{"ORD 0x3FFF in answer to IRD 0x3FFF", fmt::format("ORD {}", word.ord)};
  }
}

void works_without_negotiation(Script& s) {
  answer_to(s, kNoNegotiation, kNoNegotiation);
  exchange(s);
}

// The peer connects -------------------------------------------------------------------------------

Setup meet_enhanced(Script& s) {
  const Setup setup = s.await_peer();
  if (setup.revision != 2) throw Skipped{"the peer sends no enhanced Request (RFC 6581)"};
  return setup;
}

std::uint16_t negotiated_ird(const Script& s) {
  if (s.peer_word().ird >= kMost) throw Skipped{"the peer does not negotiate its IRD"};
  return s.peer_word().ird;
}

mpa::Rtr rtr_of(const Setup& setup) { return setup.peer_to_peer ? setup.rtr : mpa::Rtr::kNone; }

void requested_ird_is_there(Script& s) {
  Setup setup = meet_enhanced(s);
  setup.ord = negotiated_ird(s);
  if (setup.ord == 0) throw Skipped{"the peer accepts no Reads, because its IRD is 0"};
  s.send_startup(setup);
  s.begin(rtr_of(setup));
  const auto memory = learn_memory(s);
  read_burst(s, std::min<std::size_t>(setup.ord, kLongestBurst));
  finish_exchange(s, memory);
}

// Sends a Reply whose ORD exceeds the IRD of the Request by one. The initiator must either raise
// its IRD to this value and honour it, or report an error.
void one_more_than_requested(Script& s) {
  Setup setup = meet_enhanced(s);
  setup.ord = static_cast<std::uint16_t>(negotiated_ird(s) + 1);
  s.send_startup(setup);
  s.begin();
  s.serve(Script::Serve::kNothing);
  const Received first = s.receive();
  s.serve_memory(false);
  if (!first.segment)
    throw Failed{"an FPDU, or Terminate 2/0/06 insufficient IRD resources", describe(first)};
  if (first.segment->is(rdmap::Opcode::kTerminate)) {
    const auto terminate = read_terminate(*first.segment);
    if (terminate.terminate.fault == mpa::kInsufficientIrd) return;
    throw Failed{"Terminate 2/0/06 insufficient IRD resources", describe(terminate)};
  }
  if (setup.peer_to_peer) return;
  read_burst(s, std::min<std::size_t>(setup.ord, kLongestBurst));
}

void far_more_than_requested(Script& s) {
  Setup setup = meet_enhanced(s);
  negotiated_ird(s);
  setup.ord = kMost;
  s.send_startup(setup);
  s.begin();
  expect_terminate_or_skip(s, mpa::kInsufficientIrd, "the peer has resources for 16382 Reads");
}

template <std::uint16_t Ird>
void our_ird(Script& s) {
  Setup setup = meet_enhanced(s);
  if (setup.peer_to_peer && Ird == 0) throw Skipped{"the peer requests peer-to-peer mode"};
  setup.ird = Ird;
  s.send_startup(setup);
  carry_on(s, setup);
}

void reply_ord_not_negotiated(Script& s) {
  Setup setup = meet_enhanced(s);
  setup.ord = kNoNegotiation;
  s.send_startup(setup);
  carry_on(s, setup);
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/depth/our-ird-0", "RFC 6581 9.1", "EMPA-17 EMPA-18", "answers IRD 0 with ORD 0", Level::kMust, PeerRole::kResponder, ord_within_our_ird<0>},
    {"mpa/depth/our-ird-1", "RFC 6581 9.1", "EMPA-17 EMPA-18", "answers IRD 1 with an ORD of at most 1", Level::kMust, PeerRole::kResponder, ord_within_our_ird<1>},
    {"mpa/depth/our-ird-16", "RFC 6581 9.1", "EMPA-17 EMPA-18", "answers IRD 16 with an ORD of at most 16", Level::kMust, PeerRole::kResponder, ord_within_our_ird<16>},
    {"mpa/depth/our-ird-128", "RFC 6581 9.1", "EMPA-17 EMPA-18", "answers IRD 128 with an ORD of at most 128", Level::kMust, PeerRole::kResponder, ord_within_our_ird<128>},
    {"mpa/depth/our-ird-16382", "RFC 6581 9.1", "EMPA-15 EMPA-17 EMPA-18 EMPA-51", "accepts a Request with an IRD of 16382", Level::kMust, PeerRole::kResponder, ord_within_our_ird<kMost>},
    {"mpa/depth/not-mixed-up", "RFC 6581 9.1", "EMPA-15 EMPA-17", "limits its ORD to the tester's IRD, not to the tester's ORD", Level::kMust, PeerRole::kResponder, not_mixed_up},
    {"mpa/depth/no-read-without-ird", "RFC 6581 9.1", "EMPA-18 RDMAP-83", "sends no Read Request when the tester's IRD is 0", Level::kMust, PeerRole::kResponder, no_read_without_ird},
    {"mpa/depth/our-ord-0", "RFC 6581 9.1", "EMPA-15", "completes an exchange when the tester's ORD is 0", Level::kMust, PeerRole::kResponder, no_reads_wanted},
    {"mpa/depth/our-ord-1", "RFC 6581 9.1", "EMPA-22 RDMAP-81", "accepts one outstanding Read when the tester's ORD is 1", Level::kMust, PeerRole::kResponder, ird_is_there<1>},
    {"mpa/depth/our-ord-16", "RFC 6581 9.1", "EMPA-22 RDMAP-81", "accepts as many outstanding Reads as its IRD allows, up to 16", Level::kMust, PeerRole::kResponder, ird_is_there<16>},
    {"mpa/depth/our-ord-128", "RFC 6581 9.1", "EMPA-22 RDMAP-81", "accepts as many outstanding Reads as its IRD allows, up to 128", Level::kMust, PeerRole::kResponder, ird_is_there<128>},
    {"mpa/depth/our-ord-16382", "RFC 6581 9.1", "EMPA-15 EMPA-51 RDMAP-81", "answers ORD 16382 with an IRD that it can honour", Level::kMust, PeerRole::kResponder, ird_is_there<kMost>},
    {"mpa/depth/ord-not-negotiated", "RFC 6581 9.1", "EMPA-26", "answers ORD 0x3FFF with IRD 0x3FFF", Level::kMust, PeerRole::kResponder, ord_not_negotiated},
    {"mpa/depth/ird-not-negotiated", "RFC 6581 9.1", "EMPA-28", "answers IRD 0x3FFF with ORD 0x3FFF", Level::kMust, PeerRole::kResponder, ird_not_negotiated},
    {"mpa/depth/works-without-negotiation", "RFC 6581 9.1", "EMPA-26 EMPA-28", "keeps its own IRD and ORD when neither is negotiated", Level::kMust, PeerRole::kResponder, works_without_negotiation},
    {"mpa/depth/request-ird", "RFC 6581 9.1", "EMPA-22 RDMAP-81", "accepts as many outstanding Reads as the IRD of its Request allows", Level::kMust, PeerRole::kInitiator, requested_ird_is_there},
    {"mpa/depth/reply-ord-plus-1", "RFC 6581 9.1", "EMPA-22 EMPA-24", "raises its IRD to the tester's ORD, or terminates", Level::kMust, PeerRole::kInitiator, one_more_than_requested},
    {"mpa/depth/reply-ord-16382", "RFC 6581 9.1", "EMPA-14 EMPA-24", "terminates on an ORD that exceeds its resources", Level::kMust, PeerRole::kInitiator, far_more_than_requested},
    {"mpa/depth/reply-ird-0", "RFC 6581 9.1", "EMPA-23", "completes an exchange when the tester's IRD is 0", Level::kMust, PeerRole::kInitiator, our_ird<0>},
    {"mpa/depth/reply-ird-16382", "RFC 6581 9.1", "EMPA-15 EMPA-23 EMPA-51", "accepts a Reply with an IRD of 16382", Level::kMust, PeerRole::kInitiator, our_ird<kMost>},
    {"mpa/depth/reply-ird-not-negotiated", "RFC 6581 9.1", "EMPA-27", "keeps its own ORD when the tester's IRD is 0x3FFF (not negotiated)", Level::kMust, PeerRole::kInitiator, our_ird<kNoNegotiation>},
    {"mpa/depth/reply-ord-not-negotiated", "RFC 6581 9.1", "EMPA-29", "keeps its own IRD when the tester's ORD is 0x3FFF (not negotiated)", Level::kMust, PeerRole::kInitiator, reply_ord_not_negotiated},
};
// clang-format on

}  // namespace
}  // namespace mpa_enhanced_depth

std::span<const Case> depth_cases() { return mpa_enhanced_depth::kCases; }

}  // namespace iwarp::apps::conform
