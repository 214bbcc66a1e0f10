// SPDX-License-Identifier: Apache-2.0
// Converts an answer, the published figures and the parameters to JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cost/text/views.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

using Json = nlohmann::ordered_json;

namespace {

template <typename T>
Json list(const std::vector<T>& rows, Json (*one)(const T&)) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(one(row));
  return out;
}

Json way_json(const Way& w) {
  constexpr std::array kStandings{"worse", "undecided", "better"};
  Json us = Json::object();
  for (const auto component : model::kComponents) {
    us[std::string(to_string(component))] = w.cost.both()[component] / kNsPerUs;
  }
  return {{"way", w.name},
          {"us", us},
          {"total_us", w.cost.total() / kNsPerUs},
          {"low_us", w.band.low / kNsPerUs},
          {"high_us", w.band.high / kNsPerUs},
          {"sender_us", w.cost.tx.total() / kNsPerUs},
          {"receiver_us", w.cost.rx.total() / kNsPerUs},
          {"gbps", w.throughput.gbps},
          {"limit", w.throughput.limit},
          {"latency_us", w.latency / kNsPerUs},
          {"cores", w.cores},
          {"p99_us", w.p99 / kNsPerUs},
          {"busy", w.loaded.busy},
          {"memory", w.loaded.memory},
          {"polling_cores", w.loaded.cores},
          {"than_sockets", kStandings[static_cast<std::size_t>(w.standing)]}};
}

Json crossover_json(const NamedCrossover& c) {
  Json out{{"over", to_string(c.over)}, {"what", c.what}, {"text", c.text}};
  const auto& [estimate, low, high] = c.crossover;
  if (estimate.kind == model::Crossover::Kind::kFrom) out["size"] = estimate.octets;
  if (std::isfinite(low)) out["low"] = low;
  if (std::isfinite(high)) out["high"] = high;
  return out;
}

Json sentence_json(const Sentence& s) { return {{"about", s.about}, {"text", s.text}}; }

Json size_json(const SizePoint& s) {
  return {{"way", s.way},     {"size", s.size},    {"ns", s.ns},
          {"ratio", s.ratio}, {"low", s.band.low}, {"high", s.band.high}};
}

Json share_json(const SharePoint& s) {
  return {{"size", s.size}, {"share", s.share}, {"low", s.band.low}, {"high", s.band.high}};
}

Json measured_json(const model::MeasuredShare& m) {
  return {{"size", m.size}, {"low", m.low}, {"high", m.high}};
}

Json reuse_json(const ReusePoint& r) {
  return {{"host", r.host}, {"reuse", r.reuse}, {"size", r.size}};
}

Json crc_json(const CrcPoint& c) {
  return {{"crc", c.crc},
          {"markers", c.markers},
          {"us", c.ns / kNsPerUs},
          {"checksum_us", c.checksum_ns / kNsPerUs},
          {"efficiency", c.efficiency}};
}

Json check_json(const model::PublishedRow& row, const model::Check& c) {
  const bool holds = row.holds(c);
  const std::string_view verdict = row.use == model::Use::kPrediction ? c.verdict()
                                   : holds                            ? "holds"
                                                                      : "does not hold";
  return {{"what", c.what},       {"unit", c.unit},     {"published", c.published},
          {"model", c.model},     {"miss", c.miss()},   {"holds", holds},
          {"at_most", c.at_most}, {"verdict", verdict}, {"low", c.band.low},
          {"high", c.band.high}};
}

Json row_json(const model::PublishedRow& row) {
  Json out{{"number", row.number}, {"use", to_string(row.use)}, {"figure", row.figure},
           {"source", row.source}, {"mark", row.mark},          {"preset", row.preset},
           {"reason", row.reason}, {"checks", Json::array()}};
  for (const auto& c : row.checks) out["checks"].push_back(check_json(row, c));
  return out;
}

/// Returns the published figures, the number of figures of each model::Use, and the criterion by
/// which a figure counts as predicted.
Json published_json() {
  const auto rows = model::published_rows();
  if (!rows) return Json::object();
  const auto tally_json = [](const model::Tally& t) {
    return Json{{"figures", t.figures}, {"hold", t.hold}};
  };
  const auto& [miss, band, cliff] = model::kCriterion;
  Json out{{"criterion", {{"miss", miss}, {"band", band}, {"cliff", cliff}}}};
  const auto tallies = tally(*rows);
  for (const auto use : {model::Use::kIdentity, model::Use::kCalibrated, model::Use::kDerived,
                         model::Use::kPrediction, model::Use::kCliff}) {
    out["tally"][std::string(to_string(use))] = tally_json(tallies[use]);
  }
  out["tally"]["limit"] = tally_json(tallies.limits);
  out["rows"] = list(*rows, row_json);
  return out;
}

Json parameters_json(const model::ParameterSet& set) {
  Json out = Json::array();
  for (const auto& field : model::fields()) {
    const auto& v = set.values.find(field.key)->second;
    out.push_back({{"key", field.key},
                   {"meaning", field.meaning},
                   {"value", v.value},
                   {"unit", field.unit},
                   {"uncertainty", v.uncertainty},
                   {"mark", v.mark},
                   {"source", v.source}});
  }
  return out;
}

}  // namespace

std::string series_json(const Answer& a, int indent) {
  const auto& q = a.question;
  Json out{
      {"host", title_of(q.set)},
      {"note", q.set.note},
      {"workload", a.workload},
      {"what_if", a.what_if},
      {"size", q.workload.size},
      {"rate", q.rate},
      {"cores", q.cores},
      {"load", q.load},
      {"load_gbps", a.load_gbps},
      {"machine", Json::object()},
      {"sentences", list(a.sentences, sentence_json)},
      {"ways", list(a.ways, way_json)},
      {"before", list(a.before, way_json)},
      {"crossovers", list(a.crossovers, crossover_json)},
      {"reuses", nullptr},
      {"flips", Json::array()},
      {"cliffs", Json::array()},
      {"decisive", a.decisive},
      {"by_size", list(a.by_size, size_json)},
      {"copy_share",
       {{"model", list(a.copy_share, share_json)}, {"measured", list(a.measured, measured_json)}}},
      {"by_reuse", list(a.by_reuse, reuse_json)},
      {"crc_and_markers", list(a.crc_and_markers, crc_json)},
      {"published", published_json()},
      {"parameters", parameters_json(q.set)}};
  for (const auto& [name, text] : q.set.machine) out["machine"][name] = text;
  for (const auto& f : a.flips) out["flips"].push_back({{"from", f.count}, {"rnic", f.rnic}});
  for (const auto& c : a.cliffs) out["cliffs"].push_back({{"from", c.count}, {"cache", c.cache}});
  if (a.reuses) out["reuses"] = *a.reuses;
  return out.dump(indent);
}

}  // namespace iwarp::apps::cost
