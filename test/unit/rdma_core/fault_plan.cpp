// SPDX-License-Identifier: Apache-2.0
// Tests the grammar of fault plans, and when a rule triggers its fault.
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "faults/book.hpp"
#include "faults/plan.hpp"

using namespace iwarp::rdma_core::fault;
using namespace std::chrono_literals;

namespace {

Rule rule(const std::string& text) {
  const auto out = parse_rule(text);
  REQUIRE_MESSAGE(out.has_value(), out.error());
  REQUIRE(out->has_value());
  return **out;
}

std::string why(const std::string& text) {
  const auto out = parse_rule(text);
  REQUIRE_FALSE(out.has_value());
  return out.error();
}

Book book(const std::string& text) { return Book(parse_plan(text).value()); }

/// Counts `events` completions of a queue pair. Returns the ordinals of the completions at which
/// the first rule is due.
std::vector<std::uint64_t> due_at(Book& of, std::uint32_t qp, int events) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < events; ++i) {
    for (const Hit& hit : of.count(Event::kCompletions, qp)) out.push_back(hit.count);
  }
  return out;
}

}  // namespace

TEST_CASE("a rule specifies when, for which queue pairs, and which fault") {
  const Rule status = rule("  after 100 completions\tqp any status IBV_WC_WR_FLUSH_ERR # why");
  CHECK(status.text == "after 100 completions qp any status IBV_WC_WR_FLUSH_ERR");
  CHECK(status.when == When::kAfter);
  CHECK(status.event == Event::kCompletions);
  CHECK(status.count == 100);
  CHECK(status.subject.number == 0);
  CHECK(status.act == Act::kStatus);
  CHECK(status.value == 5);
  const Rule reset = rule("every 65536 octets connection 3 reset");
  CHECK(reset.event == Event::kOctets);
  CHECK(reset.when == When::kEvery);
  CHECK(reset.subject.number == 3);
  CHECK(rule("chance 0.1% sends qp each error").count == 1000);
  CHECK(rule("chance 0.1% sends qp each error").subject.each);
  CHECK(rule("chance 100% registration fail ENOMEM").value == ENOMEM);
  CHECK(rule("after 2s port down 500ms").count == 2'000'000'000);
  CHECK(rule("after 2s port down 500ms").duration == 500ms);
  CHECK(rule("now port down").duration == 0ns);
  CHECK(rule("now qp 2 rnr 250us").duration == 250us);
  CHECK(rule("after 1 creation tell GID_CHANGE").act == Act::kTell);
  CHECK(rule("every 1s connection any reset").event == Event::kTime);
  CHECK(rule("now remove device").act == Act::kRemove);
  CHECK(rule("now remove device").device.empty());
  CHECK(rule("now device rxe1 remove device").device == "rxe1");
  CHECK(rule("after 3 sends device rxe1 qp 2 error").subject.number == 2);
  CHECK(rule("now device rxe1 connection any reset").device == "rxe1");
  const Rule lost = rule("from 10 to 20 datagrams qp 2 lose");
  CHECK(lost.when == When::kRange);
  CHECK(lost.event == Event::kDatagrams);
  CHECK(lost.count == 10);
  CHECK(lost.last == 20);
  CHECK(lost.subject.number == 2);
  CHECK(lost.act == Act::kLose);
  CHECK(rule("every 10 datagrams lose").act == Act::kLose);
  CHECK(rule("chance 10% datagrams qp each delay 20ms").act == Act::kDelay);
  CHECK(rule("chance 10% datagrams qp each delay 20ms").duration == 20ms);
  CHECK(rule("after 1 datagram port down").event == Event::kDatagrams);
  CHECK(rule("from 3 to 3 completions status FATAL_ERR").last == 3);
}

TEST_CASE("an invalid rule is refused, and the message names the error") {
  CHECK(why("sometimes error").starts_with("sometimes is not one of after,"));
  CHECK(why("after").starts_with("a positive number, or a time"));
  CHECK(why("after 0 sends error").starts_with("0 is not a positive number"));
  CHECK(why("after -1 sends error").starts_with("-1 is not"));
  CHECK(why("after 18446744073709551616 sends error").starts_with("18446744073709551616 is not"));
  CHECK(why("after 2h port down").starts_with("2h is not"));
  CHECK(why("after 3601s port down").starts_with("3601s is not"));
  CHECK(why("after 3 messages error").starts_with("messages is not one of completions"));
  CHECK(why("after 3 sends").starts_with("one of status, fail"));
  CHECK(why("after 3 sends explode").starts_with("explode is not one of status"));
  CHECK(why("after 3 sends qp 0 error").starts_with("0 is not \"any\", \"each\""));
  CHECK(why("after 3 sends qp").starts_with("\"any\", \"each\" or a positive number is missing"));
  CHECK(why("after 3 sends connection 1 error") ==
        "\"connection\" is not allowed in this rule (use \"qp\")");
  CHECK(why("after 3 registrations qp 1 fail EIO") ==
        "\"qp\" is not allowed in this rule (remove it)");
  CHECK(why("now qp each error") ==
        "\"each\" is allowed only in a rule that counts events (use \"any\")");
  CHECK(why("after 3 completions status SUCCESS").starts_with("SUCCESS is not a status"));
  CHECK(why("after 3 completions status").starts_with("a status such as"));
  CHECK(why("after 3 completions fail EIO") ==
        "fail is allowed only with sends, receives, registrations and creations");
  CHECK(why("after 3 sends status WR_FLUSH_ERR") == "status is allowed only with completions");
  CHECK(why("after 3 sends reset") == "reset is allowed only with times and octets");
  CHECK(why("after 3 sends fail EHOSTUNREACH").starts_with("EHOSTUNREACH is not an error"));
  CHECK(why("now port sideways").starts_with("port sideways is not one of"));
  CHECK(why("now rnr").starts_with("a time from 1us to"));
  CHECK(why("now device") == "the name of a device is missing");
  CHECK(why("now device rxe1").starts_with("one of status, fail"));
  CHECK(why("after 3 octets device rxe1 reset") ==
        "\"device\" cannot be used with octets (use \"connection\")");
  CHECK(why("now remove device now") == "unexpected \"now\": the rule is already complete");
  CHECK(why("chance 0% sends error").starts_with("0% is not a chance"));
  CHECK(why("chance 100.1% sends error").starts_with("100.1% is not a chance"));
  CHECK(why("chance 0.00001% sends error").starts_with("0.00001% is not a chance"));
  CHECK(why("chance .5% sends error").starts_with(".5% is not a chance"));
  CHECK(why("chance 1% octets reset").starts_with("\"chance\" cannot be used with octets"));
  CHECK(why("after 3 sends lose") == "lose is allowed only with datagrams");
  CHECK(why("now lose") == "lose is allowed only with datagrams");
  CHECK(why("every 1s qp 1 delay 1ms") == "delay is allowed only with datagrams");
  CHECK(why("every 3 datagrams delay") == "a time from 1us to 3600s is missing");
  CHECK(why("every 3 datagrams delay 0ms").starts_with("0ms is not a time"));
  CHECK(why("every 3 datagrams delay 3601s").starts_with("3601s is not a time"));
  CHECK(why("every 3 datagrams lose 1ms") == "unexpected \"1ms\": the rule is already complete");
  CHECK(why("every 3 datagrams connection 1 lose") ==
        "\"connection\" is not allowed in this rule (use \"qp\")");
  CHECK(why("every 3 datagrams qp 0 lose").starts_with("0 is not \"any\", \"each\""));
  CHECK(why("every 3 datagrams error") ==
        "error is allowed only with times, completions, sends and receives");
  CHECK(why("every 3 datagrams fail EIO").starts_with("fail is allowed only with"));
  CHECK(why("from").starts_with("a positive number is missing"));
  CHECK(why("from 0 to 3 datagrams lose").starts_with("0 is not a positive number"));
  CHECK(why("from 3 datagrams lose") == "datagrams is not the word \"to\"");
  CHECK(why("from 3 to 2 datagrams lose") ==
        "the range starts at 3 but ends at 2 (the end must not be below the start)");
  CHECK(why("from 3 to datagrams lose") == "datagrams is not a number");
  CHECK(why("from 1s to 2s datagrams lose").starts_with("1s is not a positive number"));
  CHECK(why("from 1 to 2 octets reset").starts_with("\"from\" cannot be used with octets"));
  CHECK(why("seed 3") == "\"seed\" is allowed only in a fault file");
  CHECK(why(std::string("after \x1b[31m sends error")).find('\x1b') == std::string::npos);
  CHECK(why(std::string(kMaxLine + 1, 'x')) == "the line is longer than 512 bytes");
}

TEST_CASE("a plan contains rules and a seed, and an error message has the line number") {
  const auto plan = parse_plan("# faults\n\nseed 42\nnow port down\r\nafter 1s port up").value();
  CHECK(plan.seed == 42);
  REQUIRE(plan.rules.size() == 2);
  CHECK(plan.rules[0].line == 4);
  CHECK(plan.rules[1].line == 5);
  CHECK(parse_plan("")->rules.empty());
  CHECK(parse_plan("now port down\n\nnow port sideways\n").error().line == 3);
  CHECK(parse_plan("seed x").error().why == "x is not a number");
  std::string many;
  for (std::size_t i = 0; i < kMaxRules; ++i) many += "now port up\n";
  CHECK(parse_plan(many).has_value());
  CHECK(parse_plan(many + "now port up").error().line == kMaxRules + 1);
  CHECK_FALSE(parse_plan(std::string(kMaxPlan + 1, '#')).has_value());
}

TEST_CASE("events are counted for all queue pairs together, for each, or for one") {
  Book any = book("after 3 completions error");
  CHECK(due_at(any, 1, 2).empty());
  CHECK(due_at(any, 2, 5) == std::vector<std::uint64_t>{3});
  Book each = book("every 2 completions qp each error");
  CHECK(due_at(each, 1, 3) == std::vector<std::uint64_t>{2});
  CHECK(due_at(each, 2, 4) == std::vector<std::uint64_t>{2, 4});
  CHECK(due_at(each, 1, 1) == std::vector<std::uint64_t>{4});
  Book other = book("after 2 completions device rxe1 error");
  CHECK(other.count(Event::kCompletions, 1, "rxe0").empty());
  CHECK(other.count(Event::kCompletions, 2, "rxe1").empty());
  CHECK(other.count(Event::kCompletions, 1, "rxe0").empty());
  CHECK(other.count(Event::kCompletions, 3, "rxe1").size() == 1);
  Book one = book("after 1 completion qp 2 error");
  CHECK(due_at(one, 1, 10).empty());
  CHECK(due_at(one, 2, 10) == std::vector<std::uint64_t>{1});
  Book range = book("from 3 to 5 completions qp each error");
  CHECK(due_at(range, 1, 4) == std::vector<std::uint64_t>{3, 4});
  CHECK(due_at(range, 2, 9) == std::vector<std::uint64_t>{3, 4, 5});
  CHECK(due_at(range, 1, 9) == std::vector<std::uint64_t>{5});
}

TEST_CASE("a random choice depends on the seed and the count, not on other queue pairs") {
  const std::string rules = "chance 10% completions qp each error\n";
  Book first = book("seed 7\n" + rules);
  Book second = book("seed 7\n" + rules);
  Book other = book("seed 8\n" + rules);
  const auto alone = due_at(first, 1, 1000);
  CHECK(alone.size() > 50);
  CHECK(alone.size() < 200);
  std::vector<std::uint64_t> between;
  for (int i = 0; i < 1000; ++i) {
    (void)second.count(Event::kCompletions, 2);
    for (const Hit& hit : second.count(Event::kCompletions, 1)) between.push_back(hit.count);
  }
  CHECK(between == alone);
  CHECK(due_at(other, 1, 1000) != alone);
}

TEST_CASE("octets pass up to the one at which a rule is due") {
  Book of = book("after 100 octets connection 2 reset\nevery 64 octets connection each reset");
  CHECK(of.room(1, 1000) == 64);
  CHECK(of.passed(1, 10).empty());
  CHECK(of.room(1, 1000) == 54);
  CHECK(of.room(1, 5) == 5);
  CHECK(of.passed(1, 54).size() == 1);
  CHECK(of.room(1, 1000) == 64);
  CHECK(of.passed(2, 64).size() == 1);
  CHECK(of.room(2, 1000) == 36);
  const Hits hits = of.passed(2, 36);
  REQUIRE(hits.size() == 1);
  CHECK(hits[0].count == 100);
  CHECK(hits[0].subject == 2);
  CHECK(of.room(2, 1000) == 28);
}

TEST_CASE("rules that can never be due again are dropped, and make room") {
  Book of = book("after 1 completion qp 2 error\nevery 2 sends error\nchance 1% receives error");
  const auto stays = of.rules();
  for (std::uint64_t round = 0; round != 2 * kMaxRules; ++round) {
    REQUIRE(of.add(rule("now port up"), 0ns));
    REQUIRE(of.due(0ns).size() == 1);
    REQUIRE(of.add(rule("after 2 completions error"), 0ns));
    CHECK(due_at(of, 1, 2).size() == 1);
    REQUIRE(of.add(rule("from 2 to 3 completions error"), 0ns));
    CHECK(due_at(of, 1, 3).size() == 2);
    REQUIRE(of.add(rule("after 8 octets connection any reset"), 0ns));
    CHECK(of.passed(1, of.room(1, 100)).size() == 1);
    REQUIRE(of.rules() == stays);
  }
  // A rule that counts each queue pair separately remains when one queue pair is destroyed, because
  // it may still trigger for another queue pair.
  REQUIRE(of.add(rule("after 1 completion qp each error"), 0ns));
  CHECK(due_at(of, 5, 2) == std::vector<std::uint64_t>{1});
  of.gone(5);
  CHECK(due_at(of, 6, 2) == std::vector<std::uint64_t>{1});
  CHECK(of.size() == stays.size() + 1);
  // A rule about one queue pair is dropped when that queue pair is destroyed.
  of.gone(2);
  CHECK(of.size() == stays.size());
  CHECK(of.rules().front() == "every 2 sends error");
}

TEST_CASE("the random choices of a rule do not depend on rules that were dropped") {
  const std::string chance = "chance 10% completions error\n";
  Book alone = book("now port up\n" + chance);
  Book behind = book("now port up\n" + chance);
  CHECK(behind.due(0ns).size() == 1);
  REQUIRE(behind.add(rule("chance 10% sends error"), 0ns));
  REQUIRE(alone.add(rule("chance 10% sends error"), 0ns));
  CHECK(due_at(behind, 1, 1000) == due_at(alone, 1, 1000));
  for (int i = 0; i != 1000; ++i) {
    CHECK(behind.count(Event::kSends, 1).size() == alone.count(Event::kSends, 1).size());
  }
}

TEST_CASE("timed rules are due once, or periodically without catching up on missed times") {
  Book of = book("now port down\nafter 2s port up\nevery 3s tell GID_CHANGE");
  CHECK(of.next() == 0ns);
  CHECK(of.due(0ns).size() == 1);
  CHECK(of.next() == 2s);
  CHECK(of.due(1s).empty());
  CHECK(of.due(2s).size() == 1);
  CHECK(of.next() == 3s);
  CHECK(of.due(20s).size() == 1);
  CHECK(of.next() == 20s);
  CHECK(of.due(20s).size() == 1);
  CHECK(of.next() == 23s);
  REQUIRE(of.add(rule("after 1s port up"), 21s));
  CHECK(of.next() == 22s);
}
