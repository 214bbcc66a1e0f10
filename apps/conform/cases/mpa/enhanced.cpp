// SPDX-License-Identifier: Apache-2.0
// Cases about enhanced connection setup: the form of the frames, flag A, and the kinds of RTR (RFC
// 6581 sections 6, 9.2 and 10). The cases in enhanced_depth.cpp test IRD and ORD; the cases in
// enhanced_rtr.cpp test the RTR message itself.
#include <fmt/format.h>

#include "conform/cases/mpa/startup_steps.hpp"
#include "conform/script/case.hpp"
#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {
namespace mpa_enhanced {
namespace {

using namespace std::chrono_literals;
using mpa::EnhancedWord;
using mpa::Rtr;

constexpr EnhancedWord kClientServer{.ird = 16, .ord = 16};
constexpr EnhancedWord kAllKinds{.peer_to_peer = true,
                                 .rtr_send = true,
                                 .ird = 16,
                                 .rtr_write = true,
                                 .rtr_read = true,
                                 .ord = 16};
constexpr EnhancedWord kNoKind{.peer_to_peer = true, .ird = 16, .ord = 16};

EnhancedWord only(Rtr kind) {
  EnhancedWord word = kNoKind;
  word.rtr_send = kind == Rtr::kSend;
  word.rtr_write = kind == Rtr::kWrite;
  word.rtr_read = kind == Rtr::kRead;
  return word;
}

// Sends a Request with `word` and returns the enhanced word of the peer's Reply.
EnhancedWord answer_to(Script& s, const EnhancedWord& word) {
  s.open();
  s.send_startup(Setup{.word = word});
  const auto reply = s.expect_accept();
  if (!reply.enhanced) throw Skipped{"the peer sends no enhanced Replies (RFC 6581)"};
  const EnhancedWord answer = s.peer_word();
  if (!word.peer_to_peer) return answer;
  leave_in_order(s);
  return answer;
}

void expect_flags(const EnhancedWord& word, const EnhancedWord& wanted) {
  if (flags_of(word) != flags_of(wanted)) throw Failed{flags_of(wanted), flags_of(word)};
}

// Form of the Reply -------------------------------------------------------------------------------

// Opens a connection. Returns an enhanced Request that has not been sent, so that the case can
// corrupt it.
Octets enhanced_request(Script& s) {
  if (s.target().revision < 2)
    throw Skipped{"--mpa-rev 1 is set, so the tester sends no enhanced Request"};
  s.open();
  return s.make_startup(Setup{});
}

void enhanced_reply(Script& s) {
  s.octets(enhanced_request(s));
  const auto reply = s.expect_accept();
  s.begin();
  if (!reply.enhanced || reply.revision != 2 ||
      reply.private_data.size() < mpa::kEnhancedWordSize) {
    throw Failed{"a Reply of revision 2 with S=1 and a PD_Length of at least 4 (for IRD and ORD)",
                 fmt::format("a Reply of revision {} with S={:d} and PD_Length {}", reply.revision,
                             reply.enhanced, reply.private_data.size())};
  }
}

// Expects the peer to send a Reply without the enhanced word (S=0), to reject the Request, or to
// close the connection. Each of these reactions is right, because the Request mixes both revisions.
void expect_plain_or_end(Script& s) {
  const auto reply = s.startup_or_end();
  if (!reply) return;
  s.begin();
  if (reply->enhanced)
    throw Failed{"a Reply with S=0, or the end of the connection", "a Reply with S=1"};
}

void s_flag_in_revision_1(Script& s) {
  s.open();
  Octets frame = s.make_startup(Setup{.revision = 1, .private_data = pattern(8)});
  frame[kFlagsAt] |= kFlagS;
  s.octets(frame);
  expect_plain_or_end(s);
}

void revision_2_without_s(Script& s) {
  Octets frame = enhanced_request(s);
  frame[kFlagsAt] &= ~kFlagS;
  s.octets(frame);
  expect_plain_or_end(s);
}

template <std::size_t Length>
void word_too_short(Script& s) {
  Octets frame = enhanced_request(s);
  frame.resize(mpa::kStartupHeaderSize + Length);
  set_length(frame, Length);
  s.octets(frame);
  const auto reply = s.startup_or_end();
  if (!reply || reply->rejected) return;
  s.begin();
  throw Failed{"the end of the connection, or a Reply with R=1", "a Reply with R=0"};
}

void enhanced_513(Script& s) {
  Octets frame = enhanced_request(s);
  frame.resize(mpa::kStartupHeaderSize + mpa::kMaxPrivateData + 1);
  set_length(frame, mpa::kMaxPrivateData + 1);
  s.octets(frame);
  s.expect_refusal();
}

// Flags A, B, C and D of the Reply ----------------------------------------------------------------

void client_server(Script& s) { expect_flags(answer_to(s, kClientServer), kClientServer); }

void kinds_without_a(Script& s) {
  EnhancedWord word = kAllKinds;
  word.peer_to_peer = false;
  expect_flags(answer_to(s, word), kClientServer);
  s.begin();
  exchange(s);
}

void echoes_a(Script& s) {
  if (!answer_to(s, kAllKinds).peer_to_peer)
    throw Failed{"a Reply with A=1, as in the Request", "a Reply with A=0"};
}

void names_one_of_all(Script& s) {
  const auto word = answer_to(s, kAllKinds);
  if (!names_rtr(word)) throw Failed{"at least one of the flags B, C and D set", flags_of(word)};
}

template <Rtr Kind>
void one_kind(Script& s) {
  const auto word = answer_to(s, only(Kind));
  if (!word.peer_to_peer || !names_rtr(word)) {
    throw Failed{"A=1, and at least one of the flags B, C and D set", flags_of(word)};
  }
}

void no_kind(Script& s) {
  const auto word = answer_to(s, kNoKind);
  if (!names_rtr(word))
    throw Failed{"flag B, C or D set, to name an RTR kind that the peer supports", flags_of(word)};
}

void same_kinds_when_asked_together(Script& s) {
  EnhancedWord wanted = kNoKind;
  for (const Rtr kind : {Rtr::kWrite, Rtr::kRead, Rtr::kSend}) {
    const bool supported = names_rtr(answer_to(s, only(kind)), kind);
    if (kind == Rtr::kWrite) wanted.rtr_write = supported;
    if (kind == Rtr::kRead) wanted.rtr_read = supported;
    if (kind == Rtr::kSend) wanted.rtr_send = supported;
  }
  expect_flags(answer_to(s, kAllKinds), wanted);
}

// The connecting peer -----------------------------------------------------------------------------

void must_be_enhanced(Script& s) {
  if ((s.peer_startup_octets()[kFlagsAt] & kFlagS) == std::byte{0}) {
    throw Skipped{"the peer sends no enhanced Request (RFC 6581)"};
  }
}

void request_word(Script& s) {
  s.await_peer();
  must_be_enhanced(s);
  if (s.peer_startup_octets().size() < mpa::kStartupHeaderSize + mpa::kEnhancedWordSize) {
    throw Failed{"private data that begins with IRD and ORD (4 octets)",
                 "private data of fewer than 4 octets"};
  }
}

void request_flags(Script& s) {
  s.await_peer();
  must_be_enhanced(s);
  const auto& word = s.peer_word();
  if (word.peer_to_peer && !names_rtr(word))
    throw Failed{"A=1, and at least one of the flags B, C and D set", flags_of(word)};
  if (!word.peer_to_peer && names_rtr(word)) throw Failed{"A=0, and B=C=D=0", flags_of(word)};
}

template <std::size_t Length>
void reply_word_too_short(Script& s) {
  const Setup setup = s.await_peer();
  must_be_enhanced(s);
  Octets frame = s.make_startup(setup);
  frame.resize(mpa::kStartupHeaderSize + Length);
  set_length(frame, Length);
  s.octets(frame);
  expect_give_up(s);
  expect_next_works(s);
}

void reply_kinds_without_a(Script& s) {
  Setup setup = s.await_peer();
  must_be_enhanced(s);
  if (setup.peer_to_peer) throw Skipped{"the peer requests peer-to-peer mode"};
  setup.word = EnhancedWord{
      .rtr_send = true, .ird = setup.ird, .rtr_write = true, .rtr_read = true, .ord = setup.ord};
  s.send_startup(setup);
  carry_on(s, setup);
}

// Expects the peer to open a new connection and retry with a Request of revision 1. A retry is
// optional, so the case is skipped if the peer does not retry.
void retries_plain(Script& s) {
  s.await_peer();
  must_be_enhanced(s);
  for (int i = 0; i < 2 && s.reopened(1500ms); ++i) {
    if (s.expect_startup().revision != 1) continue;
    const Setup setup{.revision = 1};
    s.send_startup(setup);
    return carry_on(s, setup);
  }
  throw Skipped{"the peer does not retry with revision 1"};
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/enhanced/reply-form", "RFC 6581 10", "EMPA-4 EMPA-7 EMPA-45", "answers an enhanced Request with an enhanced Reply", Level::kMust, PeerRole::kResponder, enhanced_reply},
    {"mpa/enhanced/s-in-revision-1", "RFC 6581 6", "EMPA-3 EMPA-4 EMPA-46", "sends no enhanced Reply to a Request of revision 1 with S=1", Level::kMust, PeerRole::kResponder, s_flag_in_revision_1},
    {"mpa/enhanced/revision-2-without-s", "RFC 6581 6", "EMPA-46", "sends no enhanced Reply to a Request of revision 2 with S=0", Level::kMust, PeerRole::kResponder, revision_2_without_s},
    {"mpa/enhanced/no-word", "RFC 6581 6", "EMPA-7", "does not accept a Request with S=1 and no private data", Level::kMust, PeerRole::kResponder, word_too_short<0>},
    {"mpa/enhanced/word-of-3-octets", "RFC 6581 6", "EMPA-7", "does not accept a Request with S=1 and 3 octets of private data", Level::kMust, PeerRole::kResponder, word_too_short<3>},
    {"mpa/enhanced/total-513", "RFC 6581 7", "EMPA-10 MPA-79", "closes the connection on an enhanced Request with 513 octets of private data", Level::kMust, PeerRole::kResponder, enhanced_513},
    {"mpa/enhanced/client-server", "RFC 6581 9.2", "EMPA-41 EMPA-42", "echoes A=0 of the Request, and sends B=C=D=0 in its Reply", Level::kMust, PeerRole::kResponder, client_server},
    {"mpa/enhanced/kinds-without-a", "RFC 6581 9.2", "EMPA-42 EMPA-43", "ignores B, C and D of a Request with A=0", Level::kMust, PeerRole::kResponder, kinds_without_a},
    {"mpa/enhanced/echoes-a", "RFC 6581 9.2", "EMPA-33", "echoes A=1 of the Request in its Reply", Level::kMust, PeerRole::kResponder, echoes_a},
    {"mpa/enhanced/names-a-kind", "RFC 6581 9.2", "EMPA-32 EMPA-35", "names an RTR kind when the Request offers all kinds", Level::kMust, PeerRole::kResponder, names_one_of_all},
    {"mpa/enhanced/write-offered", "RFC 6581 9.2", "EMPA-33 EMPA-37", "echoes A=1 and names an RTR kind when the Request offers only Write", Level::kMust, PeerRole::kResponder, one_kind<Rtr::kWrite>},
    {"mpa/enhanced/read-offered", "RFC 6581 9.2", "EMPA-33 EMPA-37", "echoes A=1 and names an RTR kind when the Request offers only Read", Level::kMust, PeerRole::kResponder, one_kind<Rtr::kRead>},
    {"mpa/enhanced/send-offered", "RFC 6581 9.2", "EMPA-33 EMPA-37", "echoes A=1 and names an RTR kind when the Request offers only Send", Level::kMust, PeerRole::kResponder, one_kind<Rtr::kSend>},
    {"mpa/enhanced/nothing-offered", "RFC 6581 9.2", "EMPA-37", "names a supported RTR kind when the Request offers none", Level::kMust, PeerRole::kResponder, no_kind},
    {"mpa/enhanced/all-common-kinds", "RFC 6581 9.2", "EMPA-34", "names every offered RTR kind that it supports", Level::kShould, PeerRole::kResponder, same_kinds_when_asked_together},
    {"mpa/enhanced/request-word", "RFC 6581 6", "EMPA-7", "sends IRD and ORD in a Request with S=1", Level::kMust, PeerRole::kInitiator, request_word},
    {"mpa/enhanced/request-flags", "RFC 6581 9.2", "EMPA-31 EMPA-40 EMPA-42", "offers RTR kinds in its Request if A=1, and none if A=0", Level::kMust, PeerRole::kInitiator, request_flags},
    {"mpa/enhanced/reply-no-word", "RFC 6581 6", "EMPA-7 MPA-90", "ends the connection on a Reply with S=1 and no private data", Level::kMust, PeerRole::kInitiator, reply_word_too_short<0>, kLast},
    {"mpa/enhanced/reply-word-of-3-octets", "RFC 6581 6", "EMPA-7 MPA-90", "ends the connection on a Reply with S=1 and 3 octets of private data", Level::kMust, PeerRole::kInitiator, reply_word_too_short<3>, kLast},
    {"mpa/enhanced/reply-kinds-without-a", "RFC 6581 9.2", "EMPA-43", "ignores B, C and D of a Reply with A=0", Level::kMust, PeerRole::kInitiator, reply_kinds_without_a},
    {"mpa/enhanced/retries-plain", "RFC 6581 10", "EMPA-50", "retries with revision 1 if the tester closes instead of sending a Reply", Level::kShould, PeerRole::kInitiator, retries_plain},
};
// clang-format on

}  // namespace
}  // namespace mpa_enhanced

std::span<const Case> enhanced_cases() { return mpa_enhanced::kCases; }

}  // namespace iwarp::apps::conform
