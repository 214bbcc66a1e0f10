// SPDX-License-Identifier: Apache-2.0
// Converts the rows of the charts, and of the tables beside them, to JSON.
#include "cost/text/series.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cost/text/predict_text.hpp"
#include "cost/text/series_pictures.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

using Json = nlohmann::ordered_json;

namespace {

Json to_json(const Row& row) {
  Json out = Json::object();
  for (const auto& [name, cell] : row) {
    std::visit([&](const auto& value) { out[name] = value; }, cell.value);
  }
  return out;
}

Json to_json(const Rows& rows) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(to_json(row));
  return out;
}

Json crossovers(const Question& q) {
  Rows out;
  for (const auto& c : all_crossovers(q)) {
    Row one{{"over", to_string(c.over)}, {"what", c.what}, {"text", crossover_text(c.crossover)}};
    const auto& [estimate, low, high] = c.crossover;
    if (estimate.kind == model::Crossover::Kind::kFrom) one.emplace_back("size", estimate.octets);
    if (std::isfinite(low)) one.emplace_back("low", low);
    if (std::isfinite(high)) one.emplace_back("high", high);
    out.push_back(std::move(one));
  }
  return to_json(out);
}

Json check_json(const model::PublishedRow& row, const model::Check& c) {
  Row out{{"what", c.what},   {"unit", c.unit},   {"published", c.published},
          {"model", c.model}, {"miss", c.miss()}, {"holds", row.holds(c)}};
  if (row.use == model::Use::kPrediction) {
    out.insert(out.end(), {{"at_most", c.at_most},
                           {"near", c.near()},
                           {"narrow", c.narrow()},
                           {"band_low", c.band.low},
                           {"band_high", c.band.high}});
  } else {
    out.insert(out.end(), {{"low", c.low}, {"high", c.high}});
  }
  return to_json(out);
}

Json tally_json(const model::Tally& t) {
  return to_json(
      Row{{"figures", static_cast<double>(t.figures)}, {"hold", static_cast<double>(t.hold)}});
}

/// Returns the published figures, the number of figures of each model::Use, and the criterion by
/// which a figure counts as predicted.
Json published() {
  Json out = Json::object();
  const auto rows = model::published_rows();
  if (!rows) return out;
  out["criterion"] =
      to_json(Row{{"miss", model::kCriterion.miss}, {"band", model::kCriterion.band}});
  for (const auto use : {model::Use::kIdentity, model::Use::kCalibrated, model::Use::kDerived,
                         model::Use::kPrediction}) {
    out["tally"][std::string(to_string(use))] = tally_json(tally(*rows, use));
  }
  out["tally"]["limit"] = tally_json(model::tally_limits(*rows));
  out["rows"] = Json::array();
  for (const auto& row : *rows) {
    auto one = to_json(Row{{"number", static_cast<double>(row.number)},
                           {"use", to_string(row.use)},
                           {"figure", row.figure},
                           {"source", row.source},
                           {"mark", row.mark},
                           {"preset", row.preset},
                           {"reason", row.reason}});
    one["checks"] = Json::array();
    for (const auto& c : row.checks) one["checks"].push_back(check_json(row, c));
    out["rows"].push_back(std::move(one));
  }
  return out;
}

Json parameters(const Question& q) {
  Rows out;
  for (const auto& field : model::fields()) {
    const auto& v = q.set.values.find(field.key)->second;
    out.push_back({{"key", field.key},
                   {"meaning", field.meaning},
                   {"value", v.value},
                   {"unit", field.unit},
                   {"uncertainty", v.uncertainty},
                   {"mark", v.mark},
                   {"source", v.source}});
  }
  return to_json(out);
}

Json machine(const Question& q) {
  Json out = Json::object();
  for (const auto& [name, text] : q.set.machine) out[name] = text;
  return out;
}

Json verdicts(const Question& q) {
  Rows out;
  for (const auto& way : ways(q)) {
    if (way.mode != model::Mode::kToe && way.mode != model::Mode::kRnic) continue;
    out.push_back({{"mode", way.name}, {"text", verdict_text(q, way)}});
  }
  return to_json(out);
}

Json laws(const Question& q) {
  const auto here = laws_here(q);
  Json out = Json::object();
  out["cells"] = to_json(laws_surface(here));
  out["here"] = to_json(laws_points(q));
  out["sigma"] = here.sigma;
  out["beta"] = here.beta;
  return out;
}

}  // namespace

std::string series_json(const Question& q, const std::vector<model::MeasuredShare>& measured,
                        int indent) {
  auto out = to_json(Row{{"host", title_of(q.set)},
                         {"note", q.set.note},
                         {"workload", workload_text(q.workload)},
                         {"size", q.workload.size},
                         {"rate", q.rate},
                         {"cores", q.cores},
                         {"file", q.file}});
  out["machine"] = machine(q);
  out["verdicts"] = verdicts(q);
  out["crossovers"] = crossovers(q);
  out["bars"] = to_json(bars(q));
  out["by_size"] = to_json(by_size(q));
  out["by_rate"] = to_json(by_rate(q));
  out["copy_share"]["model"] = to_json(copy_shares(q));
  out["copy_share"]["measured"] = to_json(measured_dots(measured));
  out["by_reuse"] = to_json(by_reuse(q));
  out["laws"] = laws(q);
  out["waterfall"] = to_json(waterfall(q));
  out["eras"] = to_json(eras(q));
  out["file_transfer"] = to_json(file_transfer(q));
  out["crc_and_markers"] = to_json(crc_and_markers(q));
  out["published"] = published();
  out["parameters"] = parameters(q);
  return out.dump(indent);
}

}  // namespace iwarp::apps::cost
