// SPDX-License-Identifier: Apache-2.0
// Formats verdicts. The evidence is shortened in its middle if it is long.
#include "learn/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "command_line/help.hpp"

namespace iwarp::apps::learn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 20;

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string name_of(const Exercise& exercise) {
  return fmt::format("{}. {}", exercise.number, exercise.title());
}

/// Returns the evidence as indented lines. If there is much of it, leaves out its middle.
std::string shown(const std::vector<std::string>& evidence) {
  std::string out;
  const std::size_t left_out = evidence.size() > kMostShown ? evidence.size() - kMostShown : 0;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const bool is_middle = i >= kMostShown / 2 && i < kMostShown / 2 + left_out;
    if (!is_middle) out += fmt::format("    {}\n", evidence[i]);
    if (is_middle && i == kMostShown / 2) out += fmt::format("    ({} more lines)\n", left_out);
  }
  return out;
}

/// Returns N from the first "line N" of the text, or 0.
unsigned line_in(const std::string& text) {
  static const std::regex expression(R"(\bline (\d{1,6})\b)");
  std::smatch match;
  if (!std::regex_search(text, match, expression)) return 0;
  return static_cast<unsigned>(std::stoul(match[1]));
}

}  // namespace

std::string as_text(const Result& result) {
  const Verdict& verdict = result.verdict;
  const unsigned number = result.exercise->number;
  if (verdict.has_passed) {
    return fmt::format("{}: passed ({} run{}, {:.1f} s)\n", name_of(*result.exercise), verdict.runs,
                       verdict.runs == 1 ? "" : "s",
                       static_cast<double>(verdict.took.count()) / 1e3);
  }
  return fmt::format(
      "{}: not passed\n\n{}\n  What the judge saw in {}:\n{}\n"
      "  iwarp learn hint {} prints a hint.\n",
      name_of(*result.exercise), cli::wrapped(verdict.says, 80, 2), result.file,
      shown(verdict.evidence), number);
}

std::string as_json(std::span<const Result> results) {
  Json out = Json::array();
  for (const auto& [exercise, file, verdict] : results) {
    Json one{{"exercise", exercise->number},
             {"title", exercise->title()},
             {"file", file},
             {"passed", verdict.has_passed},
             {"runs", verdict.runs},
             {"milliseconds", verdict.took.count()},
             {"evidence", verdict.evidence}};
    if (!verdict.has_passed) {
      one["cause"] = verdict.cause;
      one["says"] = verdict.says;
      if (const unsigned line = line_in(verdict.says)) one["line"] = line;
    }
    out.push_back(std::move(one));
  }
  return dumped(out);
}

std::string as_gradescope(std::span<const Result> results) {
  Json tests = Json::array();
  for (const auto& [exercise, file, verdict] : results) {
    tests.push_back({{"name", name_of(*exercise)},
                     {"number", std::to_string(exercise->number)},
                     {"score", verdict.has_passed ? 1 : 0},
                     {"max_score", 1},
                     {"status", verdict.has_passed ? "passed" : "failed"},
                     {"output", verdict.has_passed ? "" : verdict.says},
                     {"visibility", "visible"}});
  }
  return dumped({{"tests", tests}});
}

}  // namespace iwarp::apps::learn
