// SPDX-License-Identifier: Apache-2.0
// The entry of a case: its area, its comparisons and, if it has failed, the text of each rule that
// it tests.
#include "judge/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "judge/report/rules.hpp"

namespace iwarp::judge {

namespace report = apps::report;

report::Entry entry_of(const Case& what) {
  const auto area = what.id.substr(0, what.id.find('/'));
  return {.id = what.id,
          .section = area,
          .requirements = what.rows,
          .title = what.title,
          .heading = std::string(area)};
}

report::Entry entry_of(const Result& result) {
  report::Entry out = entry_of(*result.what);
  out.outcome = result.verdict;
  for (const Observation& one : result.observations) {
    out.steps.push_back({one.step, one.expected, one.observed, one.is_right});
  }
  out.took = result.took;
  if (result.verdict != Verdict::kFail) {
    out.why = result.why;
    return out;
  }
  if (!result.why.empty()) {
    out.steps.push_back({.expected = "the case runs to its end", .observed = result.why});
  }
  out.reasons = rule_texts(result.what->rows);
  return out;
}

std::string lines_of(const Result& result) {
  std::string out;
  for (const Observation& one : result.observations) {
    out += fmt::format("{}: {} = {}\n", result.what->id, one.step, one.observed);
  }
  return out + fmt::format("{}: verdict = {}\n", result.what->id, report::word_of(result.verdict));
}

std::string list_as_text(const std::vector<apps::report::Entry>& cases) {
  std::size_t width = 0;
  for (const auto& one : cases) width = std::max(width, one.id.size());
  std::string out;
  for (const auto& one : cases) {
    out += fmt::format("{:<{}}  {} [{}]\n", one.id, width, one.title, one.requirements);
  }
  return out + fmt::format("{} cases\n", cases.size());
}

}  // namespace iwarp::judge
