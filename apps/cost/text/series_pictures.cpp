// SPDX-License-Identifier: Apache-2.0
// Evaluates the model for many message sizes, rates, numbers of reuses and ratios.
#include "cost/text/series_pictures.hpp"

#include <cmath>

namespace iwarp::apps::cost {

namespace {

using model::Component;
using model::Mode;
using model::Parameters;
using model::Workload;

constexpr double kNsPerSecond = 1e9;
constexpr double kBitsPerOctet = 8;
constexpr double kSmallest = 64;
constexpr double kLargest = 16 << 20;
constexpr double kMostReuses = 64;
constexpr double kReuseStep = 1.0905077326652577;  // eight steps double the number of reuses
constexpr double kNothing = 1e-6;                  // in us; smaller differences are rounding errors
constexpr std::size_t kBandSamples = 200;
constexpr const char* kRuleOfThumb = "1 GHz per Gb/s";

Workload sized(Workload w, double size) {
  w.size = size;
  return w;
}

/// Returns powers of two, with two intermediate sizes between neighbours.
std::vector<double> sizes() {
  std::vector<double> out;
  const auto step = std::cbrt(2.0);
  for (double n = kSmallest; n <= kLargest * 1.001; n *= step) out.push_back(std::round(n));
  return out;
}

std::vector<std::pair<std::string, Parameters>> hosts(const Question& q) {
  std::vector<std::pair<std::string, Parameters>> out;
  for (const auto& name : model::preset_names()) {
    out.emplace_back(name, model::preset(name)->resolve());
  }
  if (!q.set.machine.empty()) out.emplace_back("this host", q.set.resolve());
  return out;
}

/// Collects the steps of the waterfall chart. Each step begins where the previous one ended.
class Steps {
 public:
  void total(const std::string& name, double us) {
    rows_.push_back({{"step", name}, {"from", 0.0}, {"to", us}, {"kind", "total"}});
    level_ = us;
  }
  void between(const model::Ledger& from, const model::Ledger& to, const std::string& name) {
    for (const auto component : model::kComponents) {
      const auto us = (to[component] - from[component]) / kNsPerUs;
      if (std::abs(us) < kNothing) continue;
      const auto next = std::abs(level_ + us) < kNothing ? 0 : level_ + us;
      rows_.push_back(
          {{"step", name + ": " + (us < 0 ? "- " : "+ ") + std::string(to_string(component))},
           {"from", level_},
           {"to", next},
           {"kind", us < 0 ? "less" : "more"}});
      level_ = next;
    }
  }
  Rows rows() && { return std::move(rows_); }

 private:
  Rows rows_;
  double level_ = 0;
};

}  // namespace

Rows bars(const Question& q) {
  const auto p = q.set.resolve();
  Rows out;
  for (const auto& way : ways(q)) {
    const auto ledger = message_cost(way.mode, p, way.workload).both();
    for (const auto component : model::kComponents) {
      out.push_back({{"mode", way.name},
                     {"component", to_string(component)},
                     {"us", ledger[component] / kNsPerUs}});
    }
  }
  return out;
}

Rows by_size(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Rows out;
  for (const auto& way : ways(q)) {
    for (const auto n : sizes()) {
      const auto w = sized(way.workload, n);
      const auto each = [&](const Parameters& at) {
        return message_cost(way.mode, at, w).total() / n;
      };
      const auto b = model::band(drawn, each);
      out.push_back(
          {{"mode", way.name}, {"size", n}, {"ns", each(p)}, {"low", b.low}, {"high", b.high}});
    }
  }
  return out;
}

Rows by_rate(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Rows out;
  const auto add = [&out](const char* mode, double rate, double cores, const model::Band& b) {
    out.push_back(
        {{"mode", mode}, {"rate", rate}, {"cores", cores}, {"low", b.low}, {"high", b.high}});
  };
  for (const double rate : {1., 2., 5., 10., 25., 40., 50., 100., 200., 400.}) {
    for (const auto& way : ways(q)) {
      const auto cores = [&](const Parameters& at) {
        const auto load = load_at(way.mode, at, way.workload, rate);
        return std::max(load.tx, load.rx);
      };
      add(way.name.c_str(), rate, cores(p), model::band(drawn, cores));
    }
    const auto rule = rate / p.clock;
    add(kRuleOfThumb, rate, rule, {rule, rule, rule});
  }
  return out;
}

Rows copy_shares(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set, kBandSamples);
  Rows out;
  for (const auto n : sizes()) {
    const auto share = [&](const Parameters& at) {
      return copy_share(message_cost(Mode::kSockets, at, sized(q.workload, n)));
    };
    const auto b = model::band(drawn, share);
    out.push_back({{"size", n}, {"share", share(p)}, {"low", b.low}, {"high", b.high}});
  }
  return out;
}

Rows measured_dots(const std::vector<model::MeasuredShare>& measured) {
  Rows out;
  for (const auto& m : measured) {
    out.push_back({{"size", m.size}, {"low", m.low}, {"high", m.high}});
  }
  return out;
}

Rows by_reuse(const Question& q) {
  Rows out;
  for (const auto& [name, p] : hosts(q)) {
    for (double u = 1; u <= kMostReuses; u *= kReuseStep) {
      auto w = registered_each_time(q.workload);
      w.reuse = u;
      const auto crossover = crossover_of(cheaper(Mode::kRnic, Mode::kSockets, w), p);
      if (crossover.kind == model::Crossover::Kind::kNever) continue;
      out.push_back({{"host", name}, {"reuse", u}, {"size", std::max(1.0, crossover.octets)}});
    }
  }
  return out;
}

model::Laws laws_here(const Question& q) {
  return ratios(Mode::kRnic, q.set.resolve(), registered_once(q.workload), q.application);
}

Rows laws_surface(const model::Laws& here) {
  Rows out;
  constexpr int kSteps = 24;
  const auto step = std::pow(100.0, 1.0 / kSteps);
  for (double gamma = 0.05; gamma < 5.001; gamma *= step) {
    for (double alpha = 0.1; alpha < 10.001; alpha *= step) {
      auto l = here;
      l.gamma = gamma;
      l.alpha = alpha;
      out.push_back({{"gamma", gamma},
                     {"gamma2", gamma * step},
                     {"alpha", alpha},
                     {"alpha2", alpha * step},
                     {"gain", 100 * gain(l)}});
    }
  }
  return out;
}

Rows laws_points(const Question& q) {
  Rows out;
  for (const auto mode : {Mode::kToe, Mode::kRnic}) {
    const auto l = ratios(mode, q.set.resolve(), registered_once(q.workload), q.application);
    out.push_back({{"mode", mode == Mode::kToe ? to_string(mode) : kOnce},
                   {"gamma", l.gamma},
                   {"alpha", l.alpha},
                   {"sigma", l.sigma},
                   {"beta", l.beta},
                   {"gain", 100 * gain(l)}});
  }
  return out;
}

Rows waterfall(const Question& q) {
  const auto p = q.set.resolve();
  const auto each = registered_each_time(q.workload);
  const auto a = message_cost(Mode::kSockets, p, q.workload).both();
  const auto c = message_cost(Mode::kToe, p, q.workload).both();
  const auto d = message_cost(Mode::kRnic, p, each).both();
  const auto once = message_cost(Mode::kRnic, p, registered_once(q.workload)).both();
  Steps steps;
  steps.total("kernel sockets", a.total() / kNsPerUs);
  steps.between(a, c, "TOE");
  steps.total("TOE", c.total() / kNsPerUs);
  steps.between(c, d, "RNIC");
  steps.total(kEachTime, d.total() / kNsPerUs);
  steps.between(d, once, "once");
  steps.total(kOnce, once.total() / kNsPerUs);
  return std::move(steps).rows();
}

Rows eras(const Question& q) {
  Rows out;
  for (const auto& [name, p] : hosts(q)) {
    for (const auto& way : ways(q)) {
      const auto ledger = message_cost(way.mode, p, way.workload).both();
      for (const auto component : model::kComponents) {
        out.push_back({{"host", name},
                       {"mode", way.letter},
                       {"component", to_string(component)},
                       {"ghz", ghz_per_gbps(p, ledger[component], q.workload.size)}});
      }
    }
  }
  return out;
}

Rows file_transfer(const Question& q) {
  const auto p = q.set.resolve();
  Rows out;
  for (const auto& way : ways(q)) {
    const auto cost = transfer_cost(way.mode, p, way.workload, q.file);
    const auto rate = throughput_of(q, p, way);
    out.push_back({{"mode", way.name},
                   {"tx", cost.tx.total() / kNsPerSecond},
                   {"rx", cost.rx.total() / kNsPerSecond},
                   {"seconds", q.file * kBitsPerOctet / rate.gbps / kNsPerSecond},
                   {"limit", rate.limit}});
  }
  return out;
}

Rows crc_and_markers(const Question& q) {
  Rows out;
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

}  // namespace iwarp::apps::cost
