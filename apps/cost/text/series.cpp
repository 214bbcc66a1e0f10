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

Json list(const auto& rows, const auto& one) {
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
  return {{"number", row.number},
          {"use", to_string(row.use)},
          {"figure", row.figure},
          {"source", row.source},
          {"mark", row.mark},
          {"preset", row.preset},
          {"reason", row.reason},
          {"checks", list(row.checks, [&](const model::Check& c) { return check_json(row, c); })}};
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
  return list(model::fields(), [&set](const model::Field& field) -> Json {
    const auto& v = set.values.find(field.key)->second;
    return {{"key", field.key},   {"meaning", field.meaning},     {"value", v.value},
            {"unit", field.unit}, {"uncertainty", v.uncertainty}, {"mark", v.mark},
            {"source", v.source}};
  });
}

Json copy_share_json(const Answer& a) {
  const auto model = [](const SharePoint& s) -> Json {
    return {{"size", s.size}, {"share", s.share}, {"low", s.band.low}, {"high", s.band.high}};
  };
  const auto measured = [](const model::MeasuredShare& m) -> Json {
    return {{"size", m.size}, {"low", m.low}, {"high", m.high}};
  };
  return {{"model", list(a.copy_share, model)}, {"measured", list(a.measured, measured)}};
}

}  // namespace

std::string series_json(const Answer& a, int indent) {
  const auto& q = a.question;
  Json machine = Json::object();
  for (const auto& [name, text] : q.set.machine) machine[name] = text;
  const auto sentence = [](const Sentence& s) -> Json {
    return {{"about", s.about}, {"text", s.text}};
  };
  const auto flip = [](const Flip& f) -> Json { return {{"from", f.count}, {"rnic", f.rnic}}; };
  const auto cliff = [](const Cliff& c) -> Json { return {{"from", c.count}, {"cache", c.cache}}; };
  const auto by_size = [](const SizePoint& s) -> Json {
    return {{"way", s.way},     {"size", s.size},    {"ns", s.ns},
            {"ratio", s.ratio}, {"low", s.band.low}, {"high", s.band.high}};
  };
  const auto by_reuse = [](const ReusePoint& r) -> Json {
    return {{"host", r.host}, {"reuse", r.reuse}, {"size", r.size}};
  };
  const auto crc = [](const CrcPoint& c) -> Json {
    return {{"crc", c.crc},
            {"markers", c.markers},
            {"us", c.ns / kNsPerUs},
            {"checksum_us", c.checksum_ns / kNsPerUs},
            {"efficiency", c.efficiency}};
  };
  return Json{{"host", title_of(q.set)},
              {"note", q.set.note},
              {"workload", a.workload},
              {"what_if", a.what_if},
              {"size", q.workload.size},
              {"rate", q.rate},
              {"cores", q.cores},
              {"load", q.load},
              {"load_gbps", a.load_gbps},
              {"machine", machine},
              {"sentences", list(a.sentences, sentence)},
              {"ways", list(a.ways, way_json)},
              {"before", list(a.before, way_json)},
              {"crossovers", list(a.crossovers, crossover_json)},
              {"reuses", a.reuses ? Json(*a.reuses) : Json()},
              {"flips", list(a.flips, flip)},
              {"cliffs", list(a.cliffs, cliff)},
              {"decisive", a.decisive},
              {"by_size", list(a.by_size, by_size)},
              {"copy_share", copy_share_json(a)},
              {"by_reuse", list(a.by_reuse, by_reuse)},
              {"crc_and_markers", list(a.crc_and_markers, crc)},
              {"published", published_json()},
              {"parameters", parameters_json(q.set)}}
      .dump(indent);
}

}  // namespace iwarp::apps::cost
