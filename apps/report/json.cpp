// SPDX-License-Identifier: Apache-2.0
// Formats the report and the list of cases as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "report/report.hpp"

namespace iwarp::apps::report {
namespace {

using Json = nlohmann::ordered_json;

Json requirements_of(const Entry& entry) {
  Json out = Json::array();
  for (const auto id : std::views::split(entry.requirements, ' ')) {
    if (!id.empty()) out.push_back(std::string(id.begin(), id.end()));
  }
  return out;
}

Json describe_case(const Entry& entry) {
  Json out{{"id", entry.id},
           {"section", entry.section},
           {"requirements", requirements_of(entry)},
           {"title", entry.title},
           {"level", entry.is_should ? "should" : "must"}};
  if (!entry.role.empty()) out["role"] = entry.role;
  return out;
}

Json describe_result(const Entry& entry) {
  Json out = describe_case(entry);
  out["result"] = word_of(entry.outcome);
  out["detail"] = entry.outcome == Outcome::kFail ? differences(entry) : entry.why;
  const auto wrong = std::ranges::find(entry.steps, false, &Step::is_right);
  out["expected"] = wrong != entry.steps.end() ? wrong->expected : "";
  out["observed"] = wrong != entry.steps.end() ? wrong->observed : "";
  for (const Step& step : entry.steps) {
    if (step.call.empty()) continue;
    out["steps"].push_back({{"call", step.call},
                            {"expected", step.expected},
                            {"observed", step.observed},
                            {"right", step.is_right}});
  }
  out["seconds"] = std::chrono::duration<double>(entry.took).count();
  if (!entry.record.empty()) out["frames"] = entry.record;
  return out;
}

// Replaces invalid UTF-8, which a text from the peer may contain.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Report& report, std::string_view date) {
  Json out = Json::object();
  for (const auto& [name, value] : report.about) out[name] = value;
  out["date"] = date;
  out["cases"] = Json::array();
  for (const Entry& entry : report.entries) out["cases"].push_back(describe_result(entry));
  Json summary{{"cases", report.entries.size()},
               {"passed", count(report, Outcome::kPass)},
               {"failed", count(report, Outcome::kFail)},
               {"must_failed", std::ranges::count_if(report.entries, fails_run)}};
  for (const Outcome other : report.others) {
    std::string name(word_of(other));
    std::ranges::replace(name, ' ', '_');
    summary[name] = count(report, other);
  }
  summary["ended_early"] = report.ended_early;
  summary["seconds"] = std::chrono::duration<double>(report.took).count();
  out["summary"] = summary;
  return dump(out);
}

std::string list_as_json(const std::vector<Entry>& cases) {
  Json out = Json::array();
  for (const Entry& entry : cases) out.push_back(describe_case(entry));
  return dump(out);
}

}  // namespace iwarp::apps::report
