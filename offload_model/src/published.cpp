// SPDX-License-Identifier: Apache-2.0
// Reads the published rows and adds the model's numbers.
#include "iwarp/offload_model/published.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "published.hpp"

namespace iwarp::offload_model {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kUses{"identity", "calibrated", "derived", "prediction"};

Use use_of(const std::string& text) {
  for (std::size_t i = 0; i < kUses.size(); ++i) {
    if (kUses[i] == text) return static_cast<Use>(i);
  }
  throw std::runtime_error("unknown use " + text);
}

Check check_of(const Json& json, Use use) {
  Check out;
  out.what = json.at("what").get<std::string>();
  out.unit = json.at("unit").get<std::string>();
  out.published = json.at("published").get<double>();
  if (use == Use::kPrediction) {
    out.at_most = json.value("at_most", false);
  } else {
    out.low = json.at("low").get<double>();
    out.high = json.at("high").get<double>();
  }
  return out;
}

/// Computes the model's number for each check, and the bands of predictions.
void compute(PublishedRow& row, RowFunction function, const Inputs& inputs) {
  const auto set = row.preset.empty() ? ParameterSet{} : preset(row.preset).value();
  const auto results = function(row.preset.empty() ? Parameters{} : set.resolve(), inputs);
  if (results.size() < row.checks.size())
    throw std::runtime_error("a published row has more checks than results");
  for (std::size_t i = 0; i < row.checks.size(); ++i) row.checks[i].model = results[i];
  if (row.use != Use::kPrediction) return;
  const auto drawn = draw(set);
  for (std::size_t i = 0; i < row.checks.size(); ++i) {
    row.checks[i].band = band(drawn, [&](const Parameters& p) { return function(p, inputs)[i]; });
  }
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
  row.held_out = json.value("held_out", false);
  for (const auto& check : json.at("checks")) row.checks.push_back(check_of(check, row.use));
  const RowFunction function = row_function(json.at("compute").get<std::string>());
  if (function == nullptr) throw std::runtime_error("unknown computation");
  const auto& inputs = json.at("inputs");
  compute(row, function, [&inputs](const char* name) { return inputs.at(name).get<double>(); });
  return row;
}

}  // namespace

std::string_view Check::verdict() const {
  if (at_most) return agrees() ? "kept" : "broken";
  if (near()) return narrow() ? "agrees" : "band too wide";
  return narrow() ? "missed" : "missed, band too wide";
}

std::string_view to_string(Use use) { return kUses[static_cast<std::size_t>(use)]; }

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

Tallies tally(const std::vector<PublishedRow>& rows) {
  Tallies out;
  for (const auto& row : rows) {
    for (const auto& check : row.checks) {
      const auto count = [&](Tally& tally) {
        tally.figures += 1;
        tally.hold += row.holds(check) ? 1 : 0;
      };
      count(check.at_most ? out.limits : out.by_use[static_cast<std::size_t>(row.use)]);
      if (row.held_out) count(out.held_out);
    }
  }
  return out;
}

}  // namespace iwarp::offload_model
