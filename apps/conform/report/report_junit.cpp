// SPDX-License-Identifier: Apache-2.0
// Formats the report as JUnit XML, in the form that continuous integration servers accept.
#include <fmt/format.h>

#include "conform/report/report.hpp"

namespace iwarp::apps::conform {
namespace {

// Escapes text for use in attributes and elements. Replaces characters other than printable ASCII
// by '?', because XML 1.0 cannot represent most control characters.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c >= 0x20 && c <= 0x7E ? c : '?';
    }
  }
  return out;
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

bool is_failure(const Result& result) {
  return result.outcome == Outcome::kFail && result.what->level == Level::kMust;
}

std::string test_case(const Result& result) {
  const Case& what = *result.what;
  std::string out = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", escaped(what.section),
      escaped(fmt::format("{}: {}", what.id, what.title)), seconds(result.took));
  if (result.outcome == Outcome::kPass) return out + "/>\n";
  const auto difference =
      escaped(fmt::format("expected {}; observed {}", result.expected, result.came));
  if (is_failure(result)) {
    out += fmt::format(">\n      <failure type=\"MUST\" message=\"{}\">{}</failure>\n", difference,
                       escaped(result.record));
  } else if (result.outcome == Outcome::kFail) {
    out += fmt::format(">\n      <skipped message=\"SHOULD not met: {}\"/>\n", difference);
  } else {
    out += fmt::format(">\n      <skipped message=\"{}\"/>\n", escaped(result.why));
  }
  return out + "    </testcase>\n";
}

std::string counts_of(std::span<const Result> results) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::chrono::nanoseconds time{};
  for (const Result& result : results) {
    if (is_failure(result)) {
      ++failures;
    } else if (result.outcome != Outcome::kPass) {
      ++skipped;
    }
    time += result.took;
  }
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\"",
                     results.size(), failures, skipped, seconds(time));
}

}  // namespace

std::string to_junit(const Report& report, std::string_view date) {
  std::span<const Result> left(report.results);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"iwarp conform {}\" {}>\n", escaped(report.peer),
                     counts_of(left));
  while (!left.empty()) {
    const auto section = left.front().what->section;
    std::size_t n = 1;
    while (n < left.size() && left[n].what->section == section) ++n;
    out += fmt::format("  <testsuite name=\"{}\" timestamp=\"{}\" {}>\n", escaped(section),
                       escaped(date), counts_of(left.first(n)));
    for (const Result& result : left.first(n)) out += test_case(result);
    out += "  </testsuite>\n";
    left = left.subspan(n);
  }
  return out + "</testsuites>\n";
}

}  // namespace iwarp::apps::conform
