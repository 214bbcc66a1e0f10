// SPDX-License-Identifier: Apache-2.0
// Tests which sessions are generated, and that the rules decide as the RFCs require. A wrong rule
// would blame correct peers.
#include "conform/generated/generated.hpp"

#include <sstream>

#include "rows.hpp"

namespace iwarp::test::generated_sessions {
namespace {

using namespace apps::conform;
using namespace apps::conform::generated;
using rdmap::Opcode;

constexpr PeerMemory kMemory{.stag = 0x11223300, .to = 0x10000, .length = 64};

Progress progress_in(State state) {
  Progress p{.state = state, .memory = kMemory, .next_msn = {2, 1, 1, 1}};
  if (state == State::kInSend || state == State::kInWrite) p.begun = kBegun;
  if (state == State::kReadRequested || state == State::kInReadResponse) {
    p.asked = rdmap::ReadRequest{.sink_stag = {kMemory.stag}, .sink_to = {kMemory.to}, .size = 64};
  }
  if (state == State::kInReadResponse) p.begun = 32;
  return p;
}

std::string expectation(State state, Opcode message, std::string_view change) {
  const auto p = progress_in(state);
  static const Octets our_memory(1024);
  Sample sample = right_sample(message, p, our_memory);
  bool found = change.empty();
  for (const Variation& v : all_variations()) {
    if (std::string(v.field) + "=" + std::string(v.value) != change) continue;
    v.apply(sample, p);
    found = true;
    break;
  }
  REQUIRE_MESSAGE(found, change);
  return judge(sample, p).text();
}

void check_rows(const std::set<std::string>& known, std::string_view rows) {
  std::istringstream words{std::string(rows)};
  for (std::string id; words >> id;) CHECK_MESSAGE(known.contains(id), id);
}

}  // namespace

TEST_CASE("every generated session has a unique id, for either role of the peer") {
  for (const auto role : {PeerRole::kResponder, PeerRole::kInitiator}) {
    std::set<std::string> ids;
    for (const Session& session : all_sessions(role)) {
      CHECK_MESSAGE(ids.insert(session.id()).second, session.id());
    }
    CHECK(ids.size() > 2000);
  }
  CHECK(all_sessions(PeerRole::kEither).size() == all_sessions(PeerRole::kResponder).size());
}

TEST_CASE("a failed session names the rules that it breaks and their requirements, if any") {
  generated::Outcome outcome{.id = "a/b/none", .expected = "continues", .observed = "silence"};
  CHECK(line(outcome) ==
        "\u00d7 a/b/none\n    the tested message is valid\n"
        "    expected: continues; observed: silence\n");
  outcome.requirements = "DDP-31";
  outcome.broken = "MSN used before";
  CHECK(line(outcome) ==
        "\u00d7 a/b/none\n    MSN used before [DDP-31]\n"
        "    expected: continues; observed: silence\n");
}

TEST_CASE("rules and values of generated sessions name requirements that exist") {
  const auto known = requirement_ids();
  for (const Rule& rule : all_rules()) check_rows(known, rule.requirements);
  for (const Variation& variation : all_variations()) check_rows(known, variation.requirements);
}

TEST_CASE("a seed generates the same sessions again, and as many as requested") {
  const Choice some{.after = {}, .cases = 100, .pairs = 50, .seed = 7};
  const auto first = choose(PeerRole::kResponder, some);
  const auto again = choose(PeerRole::kResponder, some);
  REQUIRE(first.size() == 150);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].id() == again[i].id());
  const Choice rest{.after = first[99].id(), .cases = 100, .pairs = 50, .seed = 7};
  CHECK(choose(PeerRole::kResponder, rest).size() == 50);
}

TEST_CASE("valid messages are expected to be accepted in the state for which they are made") {
  for (const auto& [state, message] : {std::pair{State::kAfterSend, Opcode::kSend},
                                       {State::kAfterSend, Opcode::kSendSolicited},
                                       {State::kAfterSend, Opcode::kWrite},
                                       {State::kAfterSend, Opcode::kReadRequest},
                                       {State::kInSend, Opcode::kSend},
                                       {State::kInWrite, Opcode::kWrite},
                                       {State::kReadRequested, Opcode::kReadResponse},
                                       {State::kInReadResponse, Opcode::kReadResponse}}) {
    CAPTURE(rdmap::info(message).name);
    CHECK(expectation(state, message, "") == "continues");
    CHECK(expectation(state, message, "PAD=ones") == "continues");
    CHECK(expectation(state, message, "DDP Rsvd=1111") == "continues");
  }
}

TEST_CASE("one wrong field is judged by the tables of error codes") {
  struct Row {
    Opcode message;
    const char* change;
    const char* expected;
  };
  constexpr Row kRows[] = {
      {Opcode::kSend, "CRC=first bit", "Terminate 2/0/02"},
      {Opcode::kSend, "DV=2", "Terminate 1/2/06"},
      {Opcode::kWrite, "DV=2", "Terminate 1/1/04"},
      {Opcode::kSend, "RV=2", "Terminate 0/2/05"},
      {Opcode::kSend, "Opcode=F", "Terminate 0/2/06"},
      {Opcode::kSend, "QN=4", "Terminate 1/2/01"},
      {Opcode::kSend, "MSN=next-1", "Terminate 1/2/03 or Terminate 1/2/02"},
      {Opcode::kSend, "MSN=next+1",
       "Terminate 1/2/03 or Terminate 1/2/02 or continues without delivering the message"},
      {Opcode::kSend, "InvSTag=1", "continues"},
      {Opcode::kWrite, "STag=another key", "Terminate 1/1/00 or Terminate 1/1/02"},
      {Opcode::kWrite, "TO=ends with the buffer", "continues"},
      {Opcode::kWrite, "TO=ends one octet past the end of the buffer", "Terminate 1/1/01"},
      {Opcode::kWrite, "TO=largest", "Terminate 1/1/03 or Terminate 1/1/01"},
      {Opcode::kReadRequest, "Size=limit", "continues"},
      {Opcode::kReadRequest, "Size=limit+1", "Terminate 0/1/01"},
      {Opcode::kReadRequest, "Source STag=0", "Terminate 0/1/00 or Terminate 0/1/03"},
      {Opcode::kTerminate, "none=", "connection closed without a Terminate"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.change);
    CHECK(expectation(State::kAfterSend, row.message, row.change) == row.expected);
  }
}

TEST_CASE("a segment that continues at a wrong place is judged by that place") {
  CHECK(expectation(State::kInReadResponse, Opcode::kReadResponse, "STag=another key") ==
        "Terminate 1/1/00 or Terminate 1/1/02");
  CHECK(expectation(State::kInSend, Opcode::kSendSolicited, "") == "any Terminate or continues");
  CHECK(expectation(State::kBehindTerminate, Opcode::kSend, "") ==
        "connection closed without a Terminate");
}

}  // namespace iwarp::test::generated_sessions
