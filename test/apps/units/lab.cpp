// SPDX-License-Identifier: Apache-2.0
// Tests the session of iwarp lab: commands, steps forwards and back, faults, and the Terminates
// that the faults cause.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lab/capture.hpp"
#include "lab/history.hpp"
#include "lab/trial.hpp"

namespace iwarp::apps::lab {
namespace {

void run(History& history) {
  while (history.forward(Step::kOperation)) {
  }
}

/// Connects the two ends. The initiator sends first.
void begin(History& history, const std::string& settings) {
  REQUIRE(history.open(settings + "+connect"));
  run(history);
  REQUIRE(history.act({.verb = Verb::kSend, .numbers = {24, 0}}));
  run(history);
}

void act(History& history, const char* word) {
  const auto action = parse_action(word).value();
  CHECK(to_word(action) == word);
  REQUIRE(history.act(action));
}

std::string sent_code(History& history, Side side) {
  const auto terminate = history.session().end(side).qp->query().terminate_sent;
  return terminate ? bytes::to_string(terminate->fault).substr(0, 6) : "none";
}

std::string window(History& history, Side side) {
  const auto& octets = history.session().end(side).memory()[0].octets;
  return {reinterpret_cast<const char*>(octets.data()), 64};
}

bool in_rts(History& history) {
  return history.session().end(Side::kNear).qp->state() == verbs::QpState::kRts &&
         history.session().end(Side::kFar).qp->state() == verbs::QpState::kRts;
}

TEST_CASE("lab: after a damaged first frame, the log says why and the capture shows both states") {
  History history;
  REQUIRE(history.open("crc=both+connect"));
  run(history);
  act(history, "send.a.24");
  act(history, "flip.a.62.3");
  run(history);
  CHECK(sent_code(history, Side::kFar) == "none");
  const auto last_line = [&](Side side) { return history.session().end(side).log().back().text; };
  const auto& log = history.session().end(Side::kFar).log();
  CHECK(std::ranges::any_of(log, [](const Event& event) {
    return event.text.contains("no Terminate was sent, because a responder must not send before");
  }));
  for (const Side side : {Side::kNear, Side::kFar}) {
    const auto& end = history.session().end(side);
    CHECK(explained(history.session())
              .contains(fmt::format(
                  "\"{}\":{{\"mpa\":\"FullOperation\",\"rdmap\":\"Closed\",\"qp\":\"{}\"}}",
                  side == Side::kNear ? "near" : "far", to_string(end.qp->state()))));
  }
  act(history, "send.a.24");
  CHECK(last_line(Side::kNear).contains("the request waits for a new connection"));
}

TEST_CASE("lab: each fault causes its Terminate") {
  struct Refused {
    const char* word;
    const char* code;
  };
  constexpr Refused kRefused[] = {
      {"write.a.64.0.stag", "1/1/00"},   {"write.a.64.0.bounds", "1/1/01"},
      {"write.a.64.0.rights", "1/1/02"}, {"read.a.64.0.stag", "0/1/00"},
      {"read.a.64.0.bounds", "0/1/01"},  {"read.a.64.0.rights", "0/1/02"},
      {"send.a.200", "1/2/05"},
  };
  for (const auto& [word, code] : kRefused) {
    CAPTURE(word);
    History history;
    begin(history, "seed=5");
    act(history, word);
    run(history);
    CHECK(sent_code(history, Side::kFar) == code);
    CHECK(window(history, Side::kFar) == std::string(64, '\0'));
    CHECK(history.session().end(Side::kNear).qp->state() == verbs::QpState::kError);
  }
}

TEST_CASE("lab: a flipped bit is detected with CRCs, and placed without") {
  for (const bool crc : {true, false}) {
    History history;
    begin(history, crc ? "crc=both" : "crc=none");
    act(history, "write.a.64.0");
    const auto offset = history.session().link().arrived(Side::kNear) + 30;
    act(history, ("flip.a." + std::to_string(offset) + ".7").c_str());
    run(history);
    CHECK(sent_code(history, Side::kFar) == (crc ? "2/0/02" : "none"));
    CHECK(in_rts(history) == !crc);
    CHECK((window(history, Side::kFar) == std::string(64, '\0')) == crc);
  }
}

TEST_CASE("lab: cutting the link ends both ends, and octets in flight are lost") {
  History history;
  begin(history, "seed=1");
  act(history, "write.a.64.0");
  act(history, "cut");
  CHECK_FALSE(history.forward(Step::kSegment));
  CHECK_FALSE(in_rts(history));
  CHECK(window(history, Side::kFar) == std::string(64, '\0'));
  CHECK_FALSE(history.act({.verb = Verb::kConnect}));
}

TEST_CASE("lab: steps that are undone are repeated identically when stepping forwards") {
  History history;
  begin(history, "markers=both+ulpdu=128+seed=9");
  act(history, "write.a.300.16");
  act(history, "read.b.100.8");
  const auto before = state_json(history.session());
  run(history);
  const auto behind = state_json(history.session());
  const auto script = history.script();
  for (const Step step : {Step::kOctet, Step::kSegment, Step::kOperation}) {
    CAPTURE(static_cast<int>(step));
    while (!history.done().empty()) REQUIRE(history.back(step));
    CHECK(history.session().link().segments().empty());
    while (!history.ahead().empty()) REQUIRE(history.forward(step));
    CHECK((state_json(history.session()) == behind));
  }
  History other;
  REQUIRE(other.open(script));
  CHECK((state_json(other.session()) == behind));
  REQUIRE(other.back(Step::kOperation));
  // The script also includes the steps that are ahead of the current one.
  REQUIRE(other.open(other.script()));
  REQUIRE(other.forward(Step::kOperation));
  CHECK((state_json(other.session()) == behind));
  CHECK((before != behind));
}

TEST_CASE("lab: an invalid script is refused with a reason") {
  History history;
  for (const char* bad :
       {"nonsense", "revision=9", "seed=", "write.a", "write.c.1.1", "write.a.1.1.moon", "=", "+",
        "connect+999999", "flip.a.5.0", "send.a.4294967295", "99999999999999999999", "connect.a"}) {
    CAPTURE(bad);
    CHECK_FALSE(history.open(bad));
  }
  CHECK_FALSE(history.open(std::string(History::kMaxScript + 1, '1')));
  CHECK(history.open(""));
}

TEST_CASE("lab: a capture contains what was sent, and the decoder finds no error in it") {
  History history;
  begin(history, "rtr=write");
  act(history, "tell.b");
  act(history, "write.a.64.0");
  run(history);
  CHECK(pcap_of(history.session()).size() > 24);
  const auto lines = explained(history.session());
  CHECK(lines.contains("RDMA Write"));
  CHECK(lines.contains("\"violations\":0"));
}

TEST_CASE("lab: a seed gives the same sessions each time, and another seed gives others") {
  CHECK(digest_of_trials(1, 50) == digest_of_trials(1, 50));
  CHECK(digest_of_trials(1, 50) != digest_of_trials(2, 50));
}

}  // namespace
}  // namespace iwarp::apps::lab
