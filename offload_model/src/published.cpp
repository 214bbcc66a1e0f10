// SPDX-License-Identifier: Apache-2.0
// Reads the published rows, and computes each from the equations. This file contains no constants
// of hosts: the inputs of the rows are in published.json, and the costs of the hosts in the
// presets.
#include "iwarp/offload_model/published.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "iwarp/offload_model/adapter.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

namespace {

using Json = nlohmann::ordered_json;
using enum Component;

constexpr double kPercent = 100;
constexpr double kNsPerUs = 1000;

/// What a figure is computed from: a preset or a set drawn around it, and the check of the data
/// file.
struct Given {
  const Parameters& p;
  const Json& in;
  Mode mode = Mode::kSockets;
  Workload w{};

  double number(const char* key) const { return in.at(key).get<double>(); }
  double number(const char* key, double otherwise) const { return in.value(key, otherwise); }
  /// Returns the sum of a list of numbers.
  double sum(const char* key) const {
    const auto all = in.at(key).get<std::vector<double>>();
    return std::accumulate(all.begin(), all.end(), 0.0);
  }
  Cost cost() const { return message_cost(mode, p, w); }
  double bits() const { return w.size * kBitsPerOctet; }
  double gbps() const { return throughput(mode, p, w, 1).gbps; }
};

Given given(const Parameters& p, const Json& in) {
  Given out{.p = p, .in = in};
  const auto name = in.value("mode", "kernel sockets");
  out.mode = *std::ranges::find_if(kModes, [&name](Mode mode) { return to_string(mode) == name; });
  auto& w = out.w;
  for (const auto& [key, member] : {std::pair{"size", &w.size},
                                    {"reuse", &w.reuse},
                                    {"advertise", &w.advertise},
                                    {"hit_rate", &w.hit_rate},
                                    {"toe_copies", &w.toe_copies},
                                    {"sleeps", &w.sleeps},
                                    {"signalled", &w.signalled},
                                    {"qps", &w.qps},
                                    {"burst", &w.burst}}) {
    *member = in.value(key, *member);
  }
  w.crc = out.number("crc", 1) > 0;
  w.inlined = out.number("inlined", 0) > 0;
  const auto verb = in.value("verb", "send");
  w.verb = verb == "write" ? Verb::kWrite : verb == "read" ? Verb::kRead : Verb::kSend;
  return out;
}

/// Returns how much of a processor a transfer at `gbps` takes, in percent, at the end that the
/// check names. The model computes the work for the preset's clock. A machine with another clock
/// needs the same number of cycles.
double load(const Given& g, double gbps) {
  const auto load = load_at(g.mode, g.p, g.w, gbps);
  const auto side = g.in.at("side").get<std::string>();
  const auto cores = (side == "rx" ? 0 : load.tx) + (side == "tx" ? 0 : load.rx);
  return kPercent * cores * g.p.clock / g.number("clock", g.p.clock);
}

/// Returns the share of the sender's time that sending without a copy saves: of its process, or of
/// the host. The kernel processes acknowledgements in interrupts, whose time does not count as time
/// of the process.
double zerocopy_relief(const Given& g) {
  const auto tx = message_cost(Mode::kSockets, g.p, g.w).tx;
  const auto acks = std::max(1.0, g.w.size / g.p.gro / 2) * g.p.ack;
  const auto others = g.number("of_process", 0) * (tx[kInterrupt] + acks);
  return kPercent * (tx.total() - g.cost().tx.total()) / (tx.total() - others);
}

/// Returns the size in KB from which the way costs the sender less than plain sockets.
double zerocopy_crossover(const Given& g) {
  const auto better = [&](double size) {
    const Workload w{.size = size};
    return message_cost(g.mode, g.p, w).total() < message_cost(Mode::kSockets, g.p, w).total();
  };
  return change_between(1, kLargestMessage, better) / kNsPerUs;
}

/// Returns the time of the receiving program, without that of TCP, which may be on another core.
double reader_ns(const Given& g) {
  const auto rx = g.cost().rx;
  return rx.total() - rx[kProtocol] - rx[kInterrupt];
}

/// Returns what one flow receives by TCP. TCP runs on the core of the program, or on another core,
/// so that the busier core limits.
double flow(const Given& g) {
  const auto all = g.cost().rx.total();
  const auto program = reader_ns(g);
  return g.bits() / (g.number("other_core") > 0 ? std::max(all - program, program) : all);
}

/// Returns by how many percent a core receives more if TCP gets several packets at once.
double aggregation(const Given& g) {
  auto without = g.p;
  without.gro = without.mss;
  const auto one = message_cost(g.mode, without, g.w).rx.total();
  return kPercent * (one / g.cost().rx.total() - 1);
}

/// Returns the number of queue pairs, or of outstanding requests on them, from which on a card has
/// less than a share of its highest rate. Enough processors post.
double cliff(const Given& g) {
  constexpr double kMost = 1 << 20;
  auto w = g.w;
  const bool outstanding = g.number("outstanding") > 0;
  const auto rate = [&](double n) {
    (outstanding ? w.depth : w.qps) = outstanding ? n / w.qps : n;
    return throughput(g.mode, g.p, w, kMost).gbps;
  };
  return cliff_of(rate, g.number("below"), kMost);
}

/// A number that a publication states, in the unit of its check. The first four are computed from
/// other numbers of the publication; the model predicts the rest for a host that moves a message.
struct Quantity {
  std::string_view name;
  double (*of)(const Given& g);
};
constexpr std::array kQuantities{
    Quantity{"sum", [](const Given& g) { return g.sum("of"); }},
    Quantity{"share", [](const Given& g) { return kPercent * g.sum("of") / g.sum("all"); }},
    Quantity{"gain", [](const Given& g) { return kPercent * (g.sum("of") / g.sum("all") - 1); }},
    Quantity{"relief", [](const Given& g) { return kPercent * (1 - g.sum("of") / g.sum("all")); }},
    Quantity{"bus limit",
             [](const Given& g) {
               return g.number("bus") * g.bits() / bus_octets(g.mode, g.p, g.w).rx;
             }},
    Quantity{"bus relief",
             [](const Given& g) {
               return kPercent *
                      (1 - bus_octets(Mode::kRnic, g.p, g.w).rx / bus_octets(g.mode, g.p, g.w).rx);
             }},
    Quantity{"core sends", [](const Given& g) { return g.bits() / g.cost().tx.total(); }},
    Quantity{"core receives", [](const Given& g) { return g.bits() / g.cost().rx.total(); }},
    Quantity{"copying of receiver",
             [](const Given& g) { return kPercent * g.cost().rx[kCopy] / g.cost().rx.total(); }},
    Quantity{"load at rate", [](const Given& g) { return load(g, g.number("rate")); }},
    Quantity{"load at line rate",
             [](const Given& g) {
               return load(g, wire_of(Mode::kSockets, g.p, g.w).efficiency * g.p.link);
             }},
    Quantity{"cores",
             [](const Given& g) {
               const auto load = load_at(g.mode, g.p, g.w, g.number("rate"));
               return std::max(load.tx, load.rx);
             }},
    Quantity{"throughput", [](const Given& g) { return g.gbps(); }},
    Quantity{"share of the line", [](const Given& g) { return kPercent * g.gbps() / g.p.link; }},
    Quantity{"message rate", [](const Given& g) { return g.gbps() * kNsPerUs / g.bits(); }},
    Quantity{"latency", [](const Given& g) { return latency_ns(g.mode, g.p, g.w) / kNsPerUs; }},
    Quantity{"zero-copy crossover", zerocopy_crossover},
    Quantity{"zero-copy relief", zerocopy_relief},
    Quantity{"reader", [](const Given& g) { return reader_ns(g) / kNsPerUs; }},
    // A server under load receives and sends a small message, and does not sleep in between.
    Quantity{"request", [](const Given& g) { return g.cost().total() * g.p.clock / kNsPerUs; }},
    Quantity{"rate relative to plain sockets",
             [](const Given& g) {
               return kPercent * message_cost(Mode::kSockets, g.p, g.w).total() / g.cost().total();
             }},
    Quantity{"flow", flow},
    Quantity{"aggregation", aggregation},
    Quantity{"cliff", cliff},
};

// Reading the rows
// ----------------
constexpr std::array<std::string_view, 5> kUses{"identity", "calibrated", "derived", "prediction",
                                                "cliff"};

Use use_of(const std::string& text) {
  for (std::size_t i = 0; i < kUses.size(); ++i) {
    if (kUses[i] == text) return static_cast<Use>(i);
  }
  throw std::runtime_error("unknown use " + text);
}

/// Reads a check and computes it from `set`, with the band of a prediction.
Check check_of(const Json& json, Use use, const ParameterSet& set,
               const std::vector<Parameters>& drawn) {
  Check out;
  out.what = json.at("what").get<std::string>();
  out.unit = json.at("unit").get<std::string>();
  out.published = json.at("published").get<double>();
  const auto compute = json.at("compute").get<std::string>();
  const auto* const quantity = std::ranges::find(kQuantities, compute, &Quantity::name);
  if (quantity == kQuantities.end()) throw std::runtime_error("unknown quantity " + compute);
  const auto model = [&](const Parameters& p) { return quantity->of(given(p, json)); };
  out.model = model(set.values.empty() ? Parameters{} : set.resolve());
  if (use == Use::kPrediction) {
    out.at_most = json.value("at_most", false);
    out.band = band(drawn, model);
  } else if (use == Use::kCliff) {
    out.band = {out.published / kCriterion.cliff, out.published, out.published * kCriterion.cliff};
  } else {
    out.band = {json.at("low").get<double>(), out.published, json.at("high").get<double>()};
  }
  return out;
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
  auto set = row.preset.empty() ? ParameterSet{} : preset(row.preset).value();
  // What the publication says of its own link, card or host.
  const auto own = json.value("set", Json::object());
  for (const auto& item : own.items()) {
    set.values.at(item.key()).value = item.value().get<double>();
  }
  // With 400 samples, the width of a band varies by a tenth, which decides some verdicts.
  constexpr std::size_t kSamples = 4000;
  const auto drawn = row.use == Use::kPrediction ? draw(set, kSamples) : std::vector<Parameters>{};
  for (const auto& check : json.at("checks")) {
    row.checks.push_back(check_of(check, row.use, set, drawn));
  }
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
      if (row.use == Use::kPrediction && !check.at_most) out.inside += check.inside() ? 1 : 0;
    }
  }
  return out;
}

}  // namespace iwarp::offload_model
