// SPDX-License-Identifier: Apache-2.0
// Formats the report as JUnit XML, in the form that continuous integration servers accept.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "report/report.hpp"

namespace iwarp::apps::report {
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

std::string test_case(const Entry& entry) {
  std::string out = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", escaped(entry.section),
      escaped(fmt::format("{}: {}", entry.id, entry.title)), seconds(entry.took));
  if (entry.outcome == Outcome::kPass) return out + "/>\n";
  const auto difference = escaped(differences(entry));
  if (fails_run(entry)) {
    out += fmt::format(">\n      <failure type=\"MUST\" message=\"{}\">{}</failure>\n", difference,
                       escaped(fmt::format("{}{}", fmt::join(entry.reasons, "\n"), entry.record)));
  } else if (entry.outcome == Outcome::kFail) {
    out += fmt::format(">\n      <skipped message=\"SHOULD not met: {}\"/>\n", difference);
  } else {
    out += fmt::format(">\n      <skipped message=\"{}\"/>\n", escaped(entry.why));
  }
  return out + "    </testcase>\n";
}

std::string counts_of(std::span<const Entry> entries) {
  const auto failures = std::ranges::count_if(entries, fails_run);
  const auto passed = std::ranges::count(entries, Outcome::kPass, &Entry::outcome);
  std::chrono::nanoseconds time{};
  for (const Entry& entry : entries) time += entry.took;
  return fmt::format(
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\"", entries.size(),
      failures, static_cast<std::ptrdiff_t>(entries.size()) - failures - passed, seconds(time));
}

}  // namespace

std::string to_junit(const Report& report, std::string_view date) {
  std::span<const Entry> left(report.entries);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"iwarp conform {}\" {}>\n",
                     escaped(report.about.front().second), counts_of(left));
  while (!left.empty()) {
    const auto section = left.front().section;
    const auto n = static_cast<std::size_t>(
        std::ranges::find_if(left, [&](const Entry& entry) { return entry.section != section; }) -
        left.begin());
    out += fmt::format("  <testsuite name=\"{}\" timestamp=\"{}\" {}>\n", escaped(section),
                       escaped(date), counts_of(left.first(n)));
    for (const Entry& entry : left.first(n)) out += test_case(entry);
    out += "  </testsuite>\n";
    left = left.subspan(n);
  }
  return out + "</testsuites>\n";
}

}  // namespace iwarp::apps::report
