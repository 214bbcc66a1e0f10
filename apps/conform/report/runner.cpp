// SPDX-License-Identifier: Apache-2.0
// Selects the cases and runs them.
#include "conform/report/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace iwarp::apps::conform {
namespace {

bool chosen(const Case& what, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  return std::ranges::any_of(only, [&](const std::string& prefix) {
    return what.id.starts_with(prefix) || what.section.starts_with(prefix) ||
           what.section.starts_with("RFC " + prefix);
  });
}

// Converts a section to a sort key. Sections are sorted by layer, lowest first, and then by section
// number: "RFC 5044 7.1.2" becomes {0, {7, 1, 2}}.
std::pair<std::size_t, std::vector<int>> place(std::string_view section) {
  constexpr std::array<std::string_view, 6> kOrder = {"RFC 5044", "RFC 6581", "RFC 5041",
                                                      "RFC 5040", "RFC 7306", "RFC 5042"};
  const auto rfc = std::ranges::find_if(
      kOrder, [&](std::string_view prefix) { return section.starts_with(prefix); });
  std::vector<int> numbers;
  section.remove_prefix(std::min(section.size(), kOrder[0].size() + 1));
  int number = 0;
  while (!section.empty()) {
    const auto [end, error] =
        std::from_chars(section.data(), section.data() + section.size(), number);
    if (error != std::errc{}) break;
    numbers.push_back(number);
    section.remove_prefix(static_cast<std::size_t>(end - section.data()));
    if (!section.starts_with('.')) break;
    section.remove_prefix(1);
  }
  return {static_cast<std::size_t>(rfc - kOrder.begin()), numbers};
}

}  // namespace

Result run_case(const Case& what, const Target& target) {
  Result result{.what = &what};
  Script script(target);
  const auto start = Clock::now();
  const auto fail = [&](std::string expected, std::string observed) {
    result.outcome = Outcome::kFail;
    result.expected = std::move(expected);
    result.observed = std::move(observed);
  };
  try {
    what.run(script);
  } catch (const Failed& failed) {
    fail(failed.expected, failed.observed);
  } catch (const Skipped& skipped) {
    result.outcome = Outcome::kSkip;
    result.why = skipped.why;
  } catch (const Unreachable& unreachable) {
    fail("a connection to the peer", unreachable.why);
    result.unreachable = unreachable.what();
  }
  result.took = Clock::now() - start;
  result.record = script.record();
  return result;
}

std::span<const std::span<const Case>> all_cases() {
  static const std::array tables{
      request_cases(),   reply_cases(),    startup_cases(),   enhanced_cases(),   depth_cases(),
      rtr_cases(),       fpdu_cases(),     crc_cases(),       marker_cases(),     closing_cases(),
      tagged_cases(),    stag_cases(),     untagged_cases(),  operation_cases(),  opcode_cases(),
      read_cases(),      response_cases(), terminate_cases(), terminated_cases(), extension_cases(),
      immediate_cases(),
  };
  return tables;
}

std::vector<const Case*> select(PeerRole role, bool should, const std::vector<std::string>& only) {
  // Sort by section, then by position in the tables. The cases that may crash peers come last.
  using Place = std::tuple<bool, decltype(place({})), std::size_t>;
  std::vector<std::pair<Place, const Case*>> found;
  for (const auto table : all_cases()) {
    for (const Case& what : table) {
      const bool fits =
          role == PeerRole::kEither || what.role == PeerRole::kEither || what.role == role;
      const bool wanted = should || what.level == Level::kMust;
      if (!fits || !wanted || !chosen(what, only)) continue;
      found.push_back({{what.last, place(what.section), found.size()}, &what});
    }
  }
  std::ranges::sort(found);
  std::vector<const Case*> out;
  out.reserve(found.size());
  for (const auto& [at, what] : found) out.push_back(what);
  return out;
}

void run_all(const std::vector<const Case*>& cases, const Target& target, const Observer& observer,
             Report& report) {
  const auto start = Clock::now();
  std::size_t in_vain = 0;
  for (const Case* what : cases) {
    observer.begins(*what);
    try {
      report.results.push_back(run_case(*what, target));
    } catch (const Interrupted&) {
      report.ended_early = "interrupted";
      break;
    }
    const Result& result = report.results.back();
    const bool is_unreachable = !result.unreachable.empty();
    if (is_unreachable && report.results.size() == 1) throw Error(result.unreachable);
    observer.ended(result);
    in_vain = is_unreachable ? in_vain + 1 : 0;
    if (in_vain == kTimeout) {
      report.ended_early =
          fmt::format("{} (check that the peer still works, then repeat the run)", result.observed);
      break;
    }
  }
  report.took = Clock::now() - start;
}

}  // namespace iwarp::apps::conform
