// SPDX-License-Identifier: Apache-2.0
// Tests log lines: there is one line for each event, and it is printable and can be parsed.
#include "iwarp/verbs/log_record.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace iwarp::verbs;

namespace {

constexpr auto kTime =
    std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + std::chrono::milliseconds(3723004);

LogRecord record() {
  return {.level = LogLevel::kWarning,
          .event = "setup_failed",
          .message = "192.0.2.7 says \"no\"",
          .fields = {{"peer", "192.0.2.7:1"}, {"qp", 257U}, {"why", ""}}};
}

}  // namespace

TEST_CASE("the text format is only the message") {
  CHECK(log_line(record(), LogFormat::kText, kTime, 7) == "192.0.2.7 says \"no\"");
}

TEST_CASE("logfmt has keys and values, quoted where necessary") {
  CHECK(log_line(record(), LogFormat::kLogfmt, kTime, 7) ==
        "time=2026-11-22T01:02:03.004Z level=warning pid=7 event=setup_failed peer=192.0.2.7:1 "
        "qp=257 why=\"\" msg=\"192.0.2.7 says \\\"no\\\"\"");
}

TEST_CASE("JSON has the same keys and values as one object") {
  CHECK(log_line(record(), LogFormat::kJson, kTime, 7) ==
        "{\"time\": \"2026-11-22T01:02:03.004Z\", \"level\": \"warning\", \"pid\": 7, "
        "\"event\": \"setup_failed\", \"peer\": \"192.0.2.7:1\", \"qp\": 257, \"why\": \"\", "
        "\"msg\": \"192.0.2.7 says \\\"no\\\"\"}");
}

TEST_CASE("whatever text a peer sends, the log has one line of printable ASCII") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const auto format : {LogFormat::kText, LogFormat::kLogfmt, LogFormat::kJson}) {
    const auto line =
        log_line({.event = "e", .message = all, .fields = {{"k", all}}}, format, kTime, 1);
    CHECK(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

TEST_CASE("levels and formats are selected by name, including the old names") {
  CHECK(log_level("off") == LogLevel::kOff);
  CHECK(log_level("refusals") == LogLevel::kWarning);
  CHECK(log_level("warning") == LogLevel::kWarning);
  CHECK(log_level("connections") == LogLevel::kInfo);
  CHECK(log_level("debug") == LogLevel::kDebug);
  CHECK_FALSE(log_level("loud").has_value());
  CHECK(log_format("json") == LogFormat::kJson);
  CHECK_FALSE(log_format("xml").has_value());
}
