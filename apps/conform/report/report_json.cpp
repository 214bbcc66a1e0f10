// SPDX-License-Identifier: Apache-2.0
// Formats the report and the list of cases as JSON.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ranges>

#include "conform/report/report.hpp"

namespace iwarp::apps::conform {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kOutcomes{"pass", "fail", "skipped"};
constexpr std::array kLevels{"must", "should"};
constexpr std::array kRoles{"responder", "initiator", "either"};

Json requirements_of(const Case& what) {
  Json out = Json::array();
  for (const auto id : std::views::split(what.requirements, ' ')) {
    if (!id.empty()) out.push_back(std::string(id.begin(), id.end()));
  }
  return out;
}

Json describe_case(const Case& what) {
  return {{"id", what.id},
          {"section", what.section},
          {"requirements", requirements_of(what)},
          {"title", what.title},
          {"level", kLevels[static_cast<std::size_t>(what.level)]}};
}

std::string detail_of(const Result& result) {
  if (result.outcome == Outcome::kSkip) return result.why;
  if (result.outcome == Outcome::kPass) return {};
  return fmt::format("expected {}; observed {}", result.expected, result.came);
}

Json describe_result(const Result& result) {
  Json out = describe_case(*result.what);
  out["result"] = kOutcomes[static_cast<std::size_t>(result.outcome)];
  out["detail"] = detail_of(result);
  out["expected"] = result.expected;
  out["came"] = result.came;
  out["seconds"] = std::chrono::duration<double>(result.took).count();
  if (!result.record.empty()) out["frames"] = result.record;
  return out;
}

// Replaces invalid UTF-8, which a text from the peer may contain.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Report& report, std::string_view date) {
  Json cases = Json::array();
  for (const Result& result : report.results) cases.push_back(describe_result(result));
  const Counts counts = count(report.results);
  return dump({{"peer", report.peer},
               {"role", kRoles[static_cast<std::size_t>(report.role)]},
               {"level", kLevels[report.should ? 1 : 0]},
               {"date", date},
               {"cases", cases},
               {"summary",
                {{"cases", report.results.size()},
                 {"passed", counts.passed},
                 {"failed", counts.failed},
                 {"must_failed", counts.must_failed},
                 {"skipped", counts.skipped},
                 {"ended_early", report.ended_early},
                 {"seconds", std::chrono::duration<double>(report.took).count()}}}});
}

std::string list_as_json(const std::vector<const Case*>& cases) {
  Json out = Json::array();
  for (const Case* what : cases) {
    Json row = describe_case(*what);
    row["role"] = kRoles[static_cast<std::size_t>(what->role)];
    out.push_back(row);
  }
  return dump(out);
}

}  // namespace iwarp::apps::conform
