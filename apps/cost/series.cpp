// SPDX-License-Identifier: Apache-2.0
// Walks sizes, rates, reuses and ratios, and writes down what the model says.
#include "cost/series.hpp"

#include <cmath>

#include "cost/predict_text.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Component;
using model::Mode;
using model::Parameters;
using model::Workload;

constexpr double kNsPerUs = 1000;
constexpr double kNsPerSecond = 1e9;
constexpr double kBitsPerOctet = 8;
constexpr double kSmallest = 64;
constexpr double kLargest = 16 << 20;
constexpr double kMostReuses = 64;
constexpr double kReuseStep = 1.0905077326652577;  // eight to a doubling
constexpr double kNothing = 1e-6;                  // us: less is rounding
constexpr std::size_t kBandSamples = 200;

Workload sized(Workload w, double size) {
  w.size = size;
  return w;
}

Workload cached(Workload w) {
  w.hit_rate = 1;
  return w;
}

/// Powers of two, and two steps between.
std::vector<double> sizes(double from = kSmallest, double to = kLargest) {
  std::vector<double> out;
  const auto step = std::cbrt(2.0);
  for (double n = from; n <= to * 1.001; n *= step) out.push_back(std::round(n));
  return out;
}

/// us per message by component, both hosts.
Json bars(const Question& q) {
  const auto p = q.set.resolve();
  Json out = Json::array();
  const auto add = [&](const std::string& name, Mode mode, const Workload& w) {
    const auto ledger = message_cost(mode, p, w).both();
    for (const auto component : model::kComponents) {
      out.push_back({{"mode", name},
                     {"component", to_string(component)},
                     {"us", ledger[component] / kNsPerUs}});
    }
  };
  for (const auto mode : model::kModes) {
    add(std::string(letter(mode)) + " " + std::string(to_string(mode)), mode, q.workload);
  }
  if (q.workload.hit_rate < 1) add("d' RNIC, cached", Mode::kRnic, cached(q.workload));
  return out;
}

/// ns per octet against size, with bands.
Json by_size(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Json out = Json::array();
  const auto add = [&](const std::string& name, Mode mode, const Workload& base) {
    for (const auto n : sizes()) {
      const auto w = sized(base, n);
      const auto each = [&](const Parameters& at) { return message_cost(mode, at, w).total() / n; };
      const auto b = model::band(drawn, each);
      out.push_back(
          {{"mode", name}, {"size", n}, {"ns", each(p)}, {"low", b.low}, {"high", b.high}});
    }
  };
  for (const auto mode : model::kModes) add(std::string(to_string(mode)), mode, q.workload);
  if (q.workload.hit_rate < 1) add("RNIC, cached", Mode::kRnic, cached(q.workload));
  return out;
}

Json crossovers(const Question& q) {
  Json out = Json::array();
  for (const auto& [what, crossover] : all_crossovers(q)) {
    Json one{{"what", what}, {"text", crossover_text(crossover)}};
    if (crossover.kind == model::Crossover::Kind::kFrom) one["size"] = crossover.octets;
    out.push_back(one);
  }
  return out;
}

/// Processors on both sides against the rate, and the rule of thumb: 1 GHz per Gb/s.
Json by_rate(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Json out = Json::array();
  for (const double rate : {1., 2., 5., 10., 25., 40., 50., 100., 200., 400.}) {
    for (const auto mode : model::kModes) {
      const auto cores = [&](const Parameters& at) {
        const auto load = load_at(mode, at, q.workload, rate);
        return std::max(load.tx, load.rx);
      };
      const auto b = model::band(drawn, cores);
      out.push_back({{"mode", to_string(mode)},
                     {"rate", rate},
                     {"cores", cores(p)},
                     {"low", b.low},
                     {"high", b.high}});
    }
    out.push_back({{"mode", "1 GHz per Gb/s"},
                   {"rate", rate},
                   {"cores", rate / p.clock},
                   {"low", rate / p.clock},
                   {"high", rate / p.clock}});
  }
  return out;
}

Json copy_shares(const Question& q, const std::vector<MeasuredShare>& measured) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Json line = Json::array();
  for (const auto n : sizes()) {
    const auto share = [&](const Parameters& at) {
      return copy_share(message_cost(Mode::kSockets, at, sized(q.workload, n)));
    };
    const auto b = model::band(drawn, share);
    line.push_back({{"size", n}, {"share", share(p)}, {"low", b.low}, {"high", b.high}});
  }
  Json dots = Json::array();
  for (const auto& m : measured)
    dots.push_back({{"size", m.size}, {"low", m.low}, {"high", m.high}});
  return {{"model", line}, {"measured", dots}};
}

/// From which size on the RNIC is cheaper, against transfers per registration, for every era.
Json by_reuse(const Question& q) {
  Json out = Json::array();
  const auto add = [&](const std::string& name, const Parameters& p) {
    for (double u = 1; u <= kMostReuses; u *= kReuseStep) {
      auto w = q.workload;
      w.hit_rate = 0;
      w.reuse = u;
      const auto crossover = cpu_crossover(p, w);
      if (crossover.kind == model::Crossover::Kind::kNever) continue;
      out.push_back({{"host", name}, {"reuse", u}, {"size", std::max(1.0, crossover.octets)}});
    }
  };
  for (const auto& name : model::preset_names()) add(name, model::preset(name)->resolve());
  if (!q.set.machine.empty()) add("this host", q.set.resolve());
  return out;
}

/// Gain over gamma and alpha, the rest as here; and where this host stands.
Json laws_surface(const Question& q) {
  const auto p = q.set.resolve();
  const auto here = ratios(Mode::kRnic, p, cached(q.workload), q.application);
  Json cells = Json::array();
  constexpr int kSteps = 24;
  const auto step = std::pow(100.0, 1.0 / kSteps);
  for (double gamma = 0.05; gamma < 5.001; gamma *= step) {
    for (double alpha = 0.1; alpha < 10.001; alpha *= step) {
      auto l = here;
      l.gamma = gamma;
      l.alpha = alpha;
      cells.push_back({{"gamma", gamma},
                       {"gamma2", gamma * step},
                       {"alpha", alpha},
                       {"alpha2", alpha * step},
                       {"gain", 100 * gain(l)}});
    }
  }
  Json points = Json::array();
  for (const auto mode : {Mode::kToe, Mode::kRnic}) {
    const auto l = ratios(mode, p, cached(q.workload), q.application);
    points.push_back({{"mode", to_string(mode)},
                      {"gamma", std::max(0.05, l.gamma)},
                      {"alpha", l.alpha},
                      {"sigma", l.sigma},
                      {"beta", l.beta},
                      {"gain", 100 * gain(l)}});
  }
  return {{"cells", cells}, {"here", points}, {"sigma", here.sigma}, {"beta", here.beta}};
}

/// From sockets to a TOE to an RNIC: what each step takes away, and what it adds.
Json waterfall(const Question& q) {
  const auto p = q.set.resolve();
  Json out = Json::array();
  double level = 0;
  const auto total = [&](const std::string& name, double us) {
    out.push_back({{"step", name}, {"from", 0}, {"to", us}, {"kind", "total"}});
    level = us;
  };
  const auto step = [&](const std::string& to, Component component, double us) {
    if (std::abs(us) < kNothing) return;
    const auto name = to + ": " + (us < 0 ? "- " : "+ ") + std::string(to_string(component));
    const auto next = std::abs(level + us) < kNothing ? 0 : level + us;
    out.push_back(
        {{"step", name}, {"from", level}, {"to", next}, {"kind", us < 0 ? "less" : "more"}});
    level = next;
  };
  const auto from_to = [&](const model::Ledger& from, const model::Ledger& to,
                           const std::string& name) {
    for (const auto c : model::kComponents) step(name, c, (to[c] - from[c]) / kNsPerUs);
  };
  const auto a = message_cost(Mode::kSockets, p, q.workload).both();
  const auto c = message_cost(Mode::kToe, p, q.workload).both();
  const auto d = message_cost(Mode::kRnic, p, q.workload).both();
  total("a kernel sockets", a.total() / kNsPerUs);
  from_to(a, c, "TOE");
  total("c TOE", c.total() / kNsPerUs);
  from_to(c, d, "RNIC");
  total("d RNIC", d.total() / kNsPerUs);
  return out;
}

/// GHz per Gb/s by component, for each preset at the workload's size.
Json eras(const Question& q) {
  Json out = Json::array();
  const auto add = [&](const std::string& name, const Parameters& p) {
    for (const auto mode : model::kModes) {
      const auto ledger = message_cost(mode, p, q.workload).both();
      for (const auto component : model::kComponents) {
        out.push_back({{"host", name},
                       {"mode", letter(mode)},
                       {"component", to_string(component)},
                       {"ghz", ghz_per_gbps(p, ledger[component], q.workload.size)}});
      }
    }
  };
  for (const auto& name : model::preset_names()) add(name, model::preset(name)->resolve());
  if (!q.set.machine.empty()) add("this host", q.set.resolve());
  return out;
}

/// A file in messages of the workload's size: sockets against RDMA Write.
Json file_transfer(const Question& q) {
  const auto p = q.set.resolve();
  const auto messages = std::ceil(q.file / q.workload.size);
  Json out = Json::array();
  const auto add = [&](const std::string& name, Mode mode, const Workload& w) {
    const auto cost = message_cost(mode, p, w);
    const auto rate = throughput(mode, p, w, q.cores);
    out.push_back({{"mode", name},
                   {"tx", messages * cost.tx.total() / kNsPerSecond},
                   {"rx", messages * cost.rx.total() / kNsPerSecond},
                   {"seconds", q.file * kBitsPerOctet / rate.gbps / kNsPerSecond},
                   {"limit", rate.limit}});
  };
  for (const auto mode : model::kModes) add(std::string(to_string(mode)), mode, q.workload);
  if (q.workload.hit_rate < 1) add("RNIC, cached", Mode::kRnic, cached(q.workload));
  return out;
}

/// Software iWARP with CRC off, with tables and as this host has it; markers off and on.
Json crc_and_markers(const Question& q) {
  Json out = Json::array();
  const auto p = q.set.resolve();
  const auto add = [&](const char* crc, bool on, double each, bool markers) {
    auto at = p;
    at.crc = each;
    auto w = q.workload;
    w.crc = on;
    w.markers = markers;
    const auto cost = message_cost(Mode::kSoftware, at, w);
    const auto wire = wire_of(Mode::kSoftware, at, w);
    out.push_back({{"crc", crc},
                   {"markers", markers},
                   {"us", cost.total() / kNsPerUs},
                   {"checksum_us", cost.both()[Component::kChecksum] / kNsPerUs},
                   {"efficiency", wire.efficiency}});
  };
  for (const bool markers : {false, true}) {
    add("off", false, 0, markers);
    add("tables", true, p.crc_table, markers);
    add("in use", true, p.crc, markers);
  }
  return out;
}

Json published() {
  Json out = Json::array();
  const auto rows = model::published_rows();
  if (!rows) return out;
  for (const auto& row : *rows) {
    Json checks = Json::array();
    for (const auto& c : row.checks) {
      checks.push_back({{"what", c.what},
                        {"unit", c.unit},
                        {"published", c.published},
                        {"low", c.low},
                        {"high", c.high},
                        {"model", c.model},
                        {"holds", c.holds()}});
    }
    out.push_back({{"number", row.number},
                   {"use", to_string(row.use)},
                   {"figure", row.figure},
                   {"source", row.source},
                   {"mark", row.mark},
                   {"preset", row.preset},
                   {"holds", row.holds()},
                   {"reason", row.reason},
                   {"checks", checks}});
  }
  return out;
}

Json parameters(const Question& q) {
  Json out = Json::array();
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
  return out;
}

Json machine(const Question& q) {
  Json out = Json::object();
  for (const auto& [name, text] : q.set.machine) out[name] = text;
  return out;
}

}  // namespace

Json all_series(const Question& q, const std::vector<MeasuredShare>& measured) {
  Json verdicts = Json::array();
  for (const auto mode : {Mode::kToe, Mode::kRnic}) {
    verdicts.push_back({{"mode", to_string(mode)}, {"text", verdict_text(q, mode)}});
  }
  return {{"host", title_of(q.set)},
          {"note", q.set.note},
          {"machine", machine(q)},
          {"workload", workload_text(q.workload)},
          {"size", q.workload.size},
          {"rate", q.rate},
          {"cores", q.cores},
          {"file", q.file},
          {"verdicts", verdicts},
          {"crossovers", crossovers(q)},
          {"bars", bars(q)},
          {"by_size", by_size(q)},
          {"by_rate", by_rate(q)},
          {"copy_share", copy_shares(q, measured)},
          {"by_reuse", by_reuse(q)},
          {"laws", laws_surface(q)},
          {"waterfall", waterfall(q)},
          {"eras", eras(q)},
          {"file_transfer", file_transfer(q)},
          {"crc_and_markers", crc_and_markers(q)},
          {"published", published()},
          {"parameters", parameters(q)}};
}

}  // namespace iwarp::apps::cost
