// SPDX-License-Identifier: Apache-2.0
// Converts an answer, the published figures and the parameters to JSON. Also computes the series
// over message sizes and reuses, which only programs and the page show.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cost/text/views.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

using Json = nlohmann::ordered_json;

namespace {

using model::Mode;
using model::Parameters;
using model::Workload;

constexpr std::size_t kBandSamples = 200;

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

/// Returns powers of two, with two intermediate sizes between neighbours.
std::vector<double> sizes() {
  constexpr double kSmallest = 64;
  constexpr double kLargest = 16 << 20;
  std::vector<double> out;
  for (double n = kSmallest; n <= kLargest * 1.001; n *= std::cbrt(2.0)) {
    out.push_back(std::round(n));
  }
  return out;
}

Workload sized(Workload w, double size) {
  w.size = size;
  return w;
}

/// Returns, for each way and size, the processor time per byte of both hosts, and its ratio to that
/// of kernel sockets.
Json by_size(const Answer& a) {
  const auto p = a.question.set.resolve();
  const auto drawn = model::draw(a.question.set, kBandSamples);
  Json out = Json::array();
  for (const auto& way : a.ways) {
    for (const auto n : sizes()) {
      const auto w = sized(way.workload, n);
      const auto ratio = [&](const Parameters& at) {
        return message_cost(way.mode, at, w).total() / message_cost(Mode::kSockets, at, w).total();
      };
      const auto band = model::band(drawn, ratio);
      out.push_back({{"way", way.name},
                     {"size", n},
                     {"ns", message_cost(way.mode, p, w).total() / n},
                     {"ratio", ratio(p)},
                     {"low", band.low},
                     {"high", band.high}});
    }
  }
  return out;
}

/// Returns the share of the processor time of sockets that copying takes.
Json copy_share(const Answer& a) {
  const auto& q = a.question;
  const auto drawn = model::draw(q.set, kBandSamples);
  Json out = Json::array();
  for (const auto n : sizes()) {
    const auto share = [&](const Parameters& at) {
      return model::copy_share(message_cost(Mode::kSockets, at, sized(q.workload, n)));
    };
    const auto band = model::band(drawn, share);
    out.push_back(
        {{"size", n}, {"share", share(q.set.resolve())}, {"low", band.low}, {"high", band.high}});
  }
  const auto measured = [](const model::MeasuredShare& m) -> Json {
    return {{"size", m.size}, {"low", m.low}, {"high", m.high}};
  };
  return {{"model", out}, {"measured", list(a.measured, measured)}};
}

/// Returns the size from which an RNIC is cheaper than sockets, by the number of transfers per
/// registration.
Json by_reuse(const Question& q) {
  constexpr double kMostReuses = 64;
  constexpr double kReuseStep = 1.0905077326652577;  // eight steps double the number of reuses
  Json out = Json::array();
  const auto add = [&](const std::string& host, const Parameters& p) {
    auto w = q.workload;
    w.hit_rate = 0;
    w.on_demand = false;
    for (w.reuse = 1; w.reuse <= kMostReuses; w.reuse *= kReuseStep) {
      const auto crossover = crossover_of(cheaper(Mode::kRnic, Mode::kSockets, w), p);
      if (crossover.kind == model::Crossover::Kind::kNever) continue;
      out.push_back(
          {{"host", host}, {"reuse", w.reuse}, {"size", std::max(1.0, crossover.octets)}});
    }
  };
  // The other presets differ too little from these to be drawn.
  for (const auto* name : {"2003", "2007", "100g"}) add(name, model::preset(name)->resolve());
  if (!q.set.machine.empty()) add("this host", q.set.resolve());
  return out;
}

/// Returns the cost of software iWARP for each setting of CRC and markers.
Json crc_and_markers(const Question& q) {
  Json out = Json::array();
  const auto of_host = q.set.resolve();
  const auto add = [&](const char* crc, double each, bool markers) {
    auto p = of_host;
    p.crc = each;
    if (each != of_host.crc) p.copy_crc = p.copy_llc + each;  // as with tables, which cost the most
    auto w = q.workload;
    w.crc = std::string_view(crc) != "off";
    w.markers = markers;
    const auto cost = message_cost(Mode::kSoftware, p, w);
    out.push_back({{"crc", crc},
                   {"markers", markers},
                   {"us", cost.total() / kNsPerUs},
                   {"checksum_us", cost.both()[model::Component::kChecksum] / kNsPerUs},
                   {"efficiency", wire_of(Mode::kSoftware, p, w).efficiency}});
  };
  for (const bool markers : {false, true}) {
    add("off", 0, markers);
    add("tables", of_host.crc_table, markers);
    add("in use", of_host.crc, markers);
  }
  return out;
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
              {"by_size", by_size(a)},
              {"copy_share", copy_share(a)},
              {"by_reuse", by_reuse(q)},
              {"crc_and_markers", crc_and_markers(q)},
              {"published", published_json()},
              {"parameters", parameters_json(q.set)}}
      .dump(indent);
}

}  // namespace iwarp::apps::cost
