// SPDX-License-Identifier: Apache-2.0
// Reads the published rows and puts the model's numbers beside them.
#include "iwarp/offload_model/published.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "iwarp/offload_model/parameters.hpp"
#include "published.hpp"

namespace iwarp::offload_model {

namespace {

using Json = nlohmann::json;

Use use_of(const std::string& text) {
  if (text == "identity") return Use::kIdentity;
  return text == "calibration" ? Use::kCalibration : Use::kPrediction;
}

PublishedRow row_of(const Json& json) {
  PublishedRow row;
  row.number = json.at("number").get<int>();
  row.use = use_of(json.at("use").get<std::string>());
  row.figure = json.at("figure").get<std::string>();
  row.source = json.at("source").get<std::string>();
  row.mark = json.at("mark").get<std::string>();
  row.preset = json.value("preset", "");
  row.reason = json.value("reason", "");
  const auto& inputs = json.at("inputs");
  const auto results = compute_row(
      row.number, [&inputs](const char* name) { return inputs.at(name).get<double>(); });
  const auto& checks = json.at("checks");
  if (results.size() != checks.size()) {
    throw std::runtime_error("row " + std::to_string(row.number) + " has other checks");
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& check = checks[i];
    row.checks.push_back({check.at("what").get<std::string>(), check.at("unit").get<std::string>(),
                          check.at("published").get<double>(), check.at("low").get<double>(),
                          check.at("high").get<double>(), results[i]});
  }
  return row;
}

}  // namespace

std::string_view to_string(Use use) {
  switch (use) {
    case Use::kIdentity:
      return "identity";
    case Use::kCalibration:
      return "calibrated";
    case Use::kPrediction:
      break;
  }
  return "predicted";
}

bool PublishedRow::holds() const { return std::ranges::all_of(checks, &Check::holds); }

std::expected<std::vector<PublishedRow>, std::string> published_rows() {
  try {
    std::vector<PublishedRow> out;
    const auto root = Json::parse(data_file("published.json"));
    for (const auto& row : root.at("rows")) out.push_back(row_of(row));
    return out;
  } catch (const std::exception& error) {
    return std::unexpected("published.json: " + std::string(error.what()));
  }
}

}  // namespace iwarp::offload_model
