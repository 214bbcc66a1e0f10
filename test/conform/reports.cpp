// SPDX-License-Identifier: Apache-2.0
// Tests the three formats of a report, and the lists of cases.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "conform/command/client_command.hpp"
#include "conform/report/report.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

using apps::report::TextReport;

constexpr std::string_view kDate = "2026-01-02T03:04:05Z";

std::string text_of(const std::vector<const Case*>& cases, bool terminal) {
  std::string out;
  TextReport text([&](std::string_view more) { out += more; }, terminal);
  const auto report =
      run_of(cases, {.begins = [&](const Case& what) { text.begins(what.id); },
                     .ended = [&](const Result& result) { text.ended(entry_of(result)); }});
  text.summary(report_of(report));
  return out;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("the text report has headings, a mark per case, and repeats the failures at the end") {
  CHECK(text_of({&kPasses, &kFails, &kSkips, &kShould}, false) ==
        "\nRFC 5044: Marker PDU Aligned Framing (MPA)\n"
        "\n  Section 4.4\n"
        "    \u2714 test/one/passes: passes\n"
        "    \u00d7 test/one/fails: fails\n"
        "      -> Expected: Terminate 1/1/00 & <more>\n"
        "         Actual:   nothing \"at all\"\x01\n"
        "\nRFC 5041: Direct Data Placement (DDP)\n"
        "\n  Section 7.2\n"
        "    - test/two/skips: skips\n"
        "      -> the peer does not offer markers\n"
        "    \u00d7 test/two/should: should pass (SHOULD)\n"
        "      -> Expected: Terminate 1/1/00 & <more>\n"
        "         Actual:   nothing \"at all\"\x01\n"
        "\nFailed:\n"
        "  test/one/fails (RFC 5044 4.4; MPA-46 MPA-12)\n"
        "    -> Expected: Terminate 1/1/00 & <more>\n"
        "       Actual:   nothing \"at all\"\x01\n"
        "  test/two/should (RFC 5041 7.2; DDP-2) (SHOULD)\n"
        "    -> Expected: Terminate 1/1/00 & <more>\n"
        "       Actual:   nothing \"at all\"\x01\n"
        "\nFinished in 1.5 seconds\n"
        "4 cases, 1 passed, 2 failed, 1 skipped (failed cases that test a SHOULD: 1)\n");
}

TEST_CASE("only a terminal gets colour and the name of the running case") {
  const auto text = text_of({&kPasses}, true);
  CHECK(has(text, "    ... test/one/passes\r\x1b[K"));
  CHECK(has(text, "\x1b[32m\u2714\x1b[0m"));
  CHECK(!has(text_of({&kPasses}, false), "\x1b"));
}

TEST_CASE("a run that ended early reports why") {
  CHECK(has(text_of({&kPasses, &kInterrupts}, false), "\nEnded early: interrupted\n"));
}

TEST_CASE("the frames of a case are printed below it") {
  std::string out;
  TextReport text([&](std::string_view more) { out += more; }, false);
  Result result{.what = &kPasses, .record = "one\ntwo\n"};
  text.ended(entry_of(result));
  CHECK(out.ends_with("passes: passes\n        one\n        two\n"));
}

TEST_CASE("the JSON report contains everything") {
  const auto json = nlohmann::json::parse(
      to_json(report_of(run_of({&kPasses, &kFails, &kSkips, &kShould})), kDate));
  CHECK(json["peer"] == "192.0.2.7:7174");
  CHECK(json["role"] == "responder");
  CHECK(json["level"] == "should");
  CHECK(json["date"] == kDate);
  REQUIRE(json["cases"].size() == 4);
  const auto& failed = json["cases"][1];
  CHECK(failed["id"] == "test/one/fails");
  CHECK(failed["section"] == "RFC 5044 4.4");
  CHECK(failed["requirements"] == nlohmann::json::array({"MPA-46", "MPA-12"}));
  CHECK(failed["level"] == "must");
  CHECK(failed["result"] == "fail");
  CHECK(failed["expected"] == "Terminate 1/1/00 & <more>");
  CHECK(failed["observed"] == "nothing \"at all\"\x01");
  CHECK(failed["seconds"] == 0.25);
  CHECK(json["cases"][0]["result"] == "pass");
  CHECK(json["cases"][2]["result"] == "skipped");
  CHECK(json["cases"][2]["detail"] == "the peer does not offer markers");
  CHECK(json["summary"]["cases"] == 4);
  CHECK(json["summary"]["passed"] == 1);
  CHECK(json["summary"]["failed"] == 2);
  CHECK(json["summary"]["skipped"] == 1);
  CHECK(json["summary"]["must_failed"] == 1);
}

TEST_CASE("octets from a peer that are not text do not break a report") {
  Report report{.peer = "\xff\xfe"};
  report.results.push_back({.what = &kFails, .outcome = Outcome::kFail, .observed = "\x80<\x02"});
  CHECK(nlohmann::json::parse(to_json(report_of(report), kDate)).is_object());
  CHECK(has(to_junit(report_of(report), kDate), "observed ?&lt;?\""));
}

TEST_CASE("the JUnit report has a suite per section, and a SHOULD does not fail it") {
  CHECK(to_junit(report_of(run_of({&kPasses, &kFails, &kSkips, &kShould})), kDate) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"iwarp conform 192.0.2.7:7174\" tests=\"4\" failures=\"1\" errors=\"0\" "
        "skipped=\"2\" time=\"1.000\">\n"
        "  <testsuite name=\"RFC 5044 4.4\" timestamp=\"2026-01-02T03:04:05Z\" tests=\"2\" "
        "failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.500\">\n"
        "    <testcase classname=\"RFC 5044 4.4\" name=\"test/one/passes: passes\" "
        "time=\"0.250\"/>\n"
        "    <testcase classname=\"RFC 5044 4.4\" name=\"test/one/fails: fails\" time=\"0.250\">\n"
        "      <failure type=\"MUST\" message=\"expected Terminate 1/1/00 &amp; &lt;more&gt;; "
        "observed nothing &quot;at all&quot;?\"></failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "  <testsuite name=\"RFC 5041 7.2\" timestamp=\"2026-01-02T03:04:05Z\" tests=\"2\" "
        "failures=\"0\" errors=\"0\" skipped=\"2\" time=\"0.500\">\n"
        "    <testcase classname=\"RFC 5041 7.2\" name=\"test/two/skips: skips\" time=\"0.250\">\n"
        "      <skipped message=\"the peer does not offer markers\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"RFC 5041 7.2\" name=\"test/two/should: should pass\" "
        "time=\"0.250\">\n"
        "      <skipped message=\"SHOULD not met: expected Terminate 1/1/00 &amp; &lt;more&gt;; "
        "observed nothing &quot;at all&quot;?\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
}

TEST_CASE("the list of cases has a row per case and a count") {
  CHECK(list_as_text({&kPasses, &kShould}) ==
        "test/one/passes  RFC 5044 4.4  MUST    either     passes [MPA-46]\n"
        "test/two/should  RFC 5041 7.2  SHOULD  either     should pass [DDP-2]\n"
        "2 cases\n");
  const auto json =
      nlohmann::json::parse(apps::report::list_as_json({entry_of(kPasses), entry_of(kShould)}));
  REQUIRE(json.size() == 2);
  CHECK(json[1]["level"] == "should");
  CHECK(json[1]["role"] == "either");
}

TEST_CASE("every %p in a client command is replaced by the port") {
  CHECK(with_port("rping -c -p %p; echo %p", 7174) == "rping -c -p 7174; echo 7174");
  CHECK(with_port("nc", 1) == "nc");
}

}  // namespace iwarp::test
