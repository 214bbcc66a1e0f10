// SPDX-License-Identifier: Apache-2.0
// The loop around a case, and the choice of cases.
#include "conform/runner.hpp"

#include <algorithm>

namespace iwarp::apps::conform {
namespace {

bool chosen(const Case& what, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  return std::ranges::any_of(only, [&](const std::string& prefix) {
    return what.id.starts_with(prefix) || what.section.starts_with(prefix) ||
           what.section.starts_with("RFC " + prefix);
  });
}

}  // namespace

Result run_case(const Case& what, const Target& target) {
  Result result{.what = &what};
  Script script(target);
  const auto start = Clock::now();
  try {
    what.run(script);
  } catch (Failed& failed) {
    result.outcome = Outcome::kFail;
    result.expected = std::move(failed.expected);
    result.came = std::move(failed.came);
  } catch (Skipped& skipped) {
    result.outcome = Outcome::kSkip;
    result.why = std::move(skipped.why);
  }
  result.took = Clock::now() - start;
  result.record = script.record();
  return result;
}

std::span<const std::span<const Case>> all_cases() {
  static const std::array tables{
      request_cases(),   reply_cases(),   enhanced_cases(),  fpdu_cases(),
      marker_cases(),    closing_cases(), tagged_cases(),    untagged_cases(),
      operation_cases(), read_cases(),    terminate_cases(), extension_cases(),
  };
  return tables;
}

std::vector<const Case*> select(PeerRole role, bool should, const std::vector<std::string>& only) {
  std::vector<const Case*> out;
  for (const auto table : all_cases()) {
    for (const Case& what : table) {
      const bool fits = what.role == PeerRole::kEither || what.role == role;
      const bool wanted = should || what.level == Level::kMust;
      if (fits && wanted && chosen(what, only)) out.push_back(&what);
    }
  }
  return out;
}

}  // namespace iwarp::apps::conform
