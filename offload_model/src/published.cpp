// SPDX-License-Identifier: Apache-2.0
// Reads the published rows, and computes each from the equations. This file contains no constants
// of hosts: the inputs of the rows are in published.json, and the costs of the hosts in the
// presets.
#include "iwarp/offload_model/published.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "iwarp/offload_model/adapter.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

namespace {

/// Returns an input of a row. Throws if the row lacks it.
using Inputs = std::function<double(const char* name)>;
/// The numbers that the model computes for a row: at least one for each check, in the order of the
/// checks and in their units.
using RowResults = std::vector<double>;
/// Computes a row. `p` is the row's preset or a set drawn around the preset; rows without a preset
/// ignore `p`.
using RowFunction = RowResults (*)(const Parameters& p, const Inputs& in);

using enum Component;

constexpr double kPercent = 100;
constexpr double kNsPerUs = 1000;
constexpr double kOctetsPerKb = 1000;
constexpr double kOften = 1e12;  // transfers for each registration and advertisement

double gbps_of(double size, const Ledger& side) { return size * kBitsPerOctet / side.total(); }

Cost cost_at(Mode mode, const Parameters& p, double size) {
  return message_cost(mode, p, Workload{.size = size});
}

// Rows that use no preset: they check a formula, or add up numbers that the paper itself states
// -------------------------------------------------------------------
RowResults clark(const Parameters&, const Inputs& in) {
  Cost cost;
  cost.rx[kCopy] = in("copy_user") + in("copy_network");
  cost.rx[kChecksum] = in("checksum");
  cost.rx[kProtocol] = in("driver") + in("protocol");
  cost.rx[kSyscall] = in("system");
  const auto touching = cost.rx[kCopy] + cost.rx[kChecksum];
  return {kPercent * copy_share(cost), kPercent * touching / cost.total()};
}

RowResults bus(const Parameters& p, const Inputs& in) {
  const auto octets = [&p](double copies) {
    return bus_octets(Mode::kToe, p, {.size = 1, .toe_copies = copies}).rx;
  };
  const auto less = [&](double copies) { return kPercent * (1 - octets(0) / octets(copies)); };
  return {in("bus") * kBitsPerOctet / octets(1), less(1), less(2)};
}

RowResults chase(const Parameters&, const Inputs& in) {
  const auto left = in("total") - in("data_before") + in("data_after");
  return {kPercent * (in("total") / left - 1),
          kPercent * (in("load_before") / in("load_after") - 1)};
}

RowResults flextoe(const Parameters&, const Inputs& in) {
  const auto linux_total = in("linux_driver") + in("linux_stack") + in("linux_sockets") +
                           in("linux_app") + in("linux_other");
  const auto toe =
      linux_total - in("linux_driver") - in("linux_stack") + in("toe_driver") + in("toe_stack");
  return {toe, kPercent * (1 - toe / linux_total),
          kPercent * (1 - in("flextoe_total") / in("toe_total")),
          kPercent * (in("tas_driver") + in("tas_stack")) / in("tas_total")};
}

// Rows with a preset
// -----------
/// Returns the load of each side at the rate of the link.
Load at_line_rate(Mode mode, const Parameters& p, const Workload& w) {
  return load_at(mode, p, w, wire_of(Mode::kSockets, p, w).efficiency * p.link);
}

RowResults full_duplex(const Parameters& p, const Inputs& in) {
  const auto load = at_line_rate(Mode::kSockets, p, {.size = in("size")});
  return {kPercent * (load.tx + load.rx)};
}

RowResults plain_card(const Parameters& p, const Inputs& in) {
  return {gbps_of(in("size"), cost_at(Mode::kSockets, p, in("size")).rx)};
}

RowResults cai(const Parameters& p, const Inputs& in) {
  const auto cost = cost_at(Mode::kSockets, p, in("size"));
  return {gbps_of(in("size"), cost.rx), kPercent * cost.rx[kCopy] / cost.rx.total(),
          gbps_of(in("size"), cost.tx)};
}

/// The latency has no term for registration, because the registration is cached and not on the
/// critical path.
RowResults card_latency(const Parameters& p, const Inputs& in) {
  const Workload small{.size = in("small"), .hit_rate = 1};
  return {latency_ns(Mode::kRnic, p, small) / kNsPerUs};
}

RowResults card(const Parameters& p, const Inputs& in) {
  const auto stream = throughput(Mode::kRnic, p, {.size = in("large"), .hit_rate = 1}, 1);
  return {kPercent * stream.gbps / p.link, card_latency(p, in).front()};
}

RowResults dalessandro(const Parameters& p, const Inputs& in) {
  const Workload w{.size = in("size"), .hit_rate = 1};
  const auto sockets = at_line_rate(Mode::kSockets, p, w);
  return {kPercent * sockets.tx, kPercent * sockets.rx,
          kPercent * at_line_rate(Mode::kRnic, p, w).rx};
}

RowResults t110(const Parameters& p, const Inputs& in) {
  // The model computes the work of the host for the preset's nominal clock. Scale that work,
  // because the machine in the publication has another clock and needs the same number of cycles.
  const auto slower = p.clock / in("clock");
  return {kPercent * slower * load_at(Mode::kToe, p, {.size = in("size")}, in("rate")).rx};
}

template <Mode mode>
RowResults latency(const Parameters& p, const Inputs& in) {
  return {latency_ns(mode, p, {.size = in("size")}) / kNsPerUs};
}

RowResults soft_rdma(const Parameters& p, const Inputs& in) {
  const Workload w{.size = in("size"), .crc = false};
  return {gbps_of(w.size, message_cost(Mode::kSoftware, p, w).rx)};
}

RowResults cores_at(const Parameters& p, const Inputs& in) {
  const auto busier = [&](Mode mode) {
    const auto load = load_at(mode, p, {.size = in("size")}, in("rate"));
    return std::max(load.tx, load.rx);
  };
  return {busier(Mode::kSockets), busier(Mode::kToe)};
}

RowResults zerocopy(const Parameters& p, const Inputs&) {
  return {zerocopy_crossover(p).octets / kOctetsPerKb};
}

RowResults zerocopy_saving(const Parameters& p, const Inputs& in) {
  const auto tx = cost_at(Mode::kSockets, p, in("size")).tx;
  const auto saved =
      tx[kCopy] - std::ceil(in("size") / p.page) * p.pin_page - p.zerocopy_notify - p.syscall_tx;
  // The kernel processes acknowledgements in interrupts, whose time does not count as time of the
  // process.
  const auto acks = std::max(1.0, in("size") / p.gro / 2) * p.ack;
  const auto process = tx.total() - tx[kInterrupt] - acks;
  return {kPercent * saved / process, kPercent * saved / tx.total()};
}

RowResults reader(const Parameters& p, const Inputs& in) {
  auto at = p;
  at.call = in("call");
  const auto rx = cost_at(Mode::kSockets, at, in("size")).rx;
  return {(rx[kCopy] + rx[kSyscall] + rx[kWakeup]) / kNsPerUs};
}

/// Models a server under load, which receives and sends a small message and does not sleep in
/// between.
RowResults request(const Parameters& p, const Inputs& in) {
  const auto kilocycles = [&](Mode mode) {
    const auto cost = message_cost(mode, p, {.size = in("size"), .sleeps = 0});
    return cost.total() * p.clock / kNsPerUs;
  };
  return {kilocycles(Mode::kSockets), kilocycles(Mode::kToe)};
}

/// Returns the parameters of another link, with its packets and its bus.
Parameters on_link(const Parameters& p, const Inputs& in) {
  auto at = p;
  at.link = at.nic_rate = in("link");
  at.mss = in("mtu");
  at.frame_overhead = in("headers");
  at.pcie_generation = in("pcie");
  return at;
}

RowResults stream(const Parameters& p, const Inputs& in) {
  const auto at = on_link(p, in);
  const Workload w{.size = in("size"), .reuse = kOften, .advertise = kOften, .verb = Verb::kWrite};
  return {throughput(Mode::kRnic, at, w, 1).gbps};
}

/// The messages per us that one thread posts, whose completions it polls.
RowResults one_thread(const Parameters& p, const Inputs& in) {
  auto at = p;
  at.doorbell_batch = in("list");
  const Workload w{.size = in("size"),
                   .reuse = kOften,
                   .advertise = kOften,
                   .signalled = in("signalled"),
                   .verb = Verb::kWrite};
  return {throughput(Mode::kRnic, at, w, 1).gbps * kNsPerUs / (w.size * kBitsPerOctet)};
}

/// The number of queue pairs, or of `outstanding` requests on them, from which on a card that
/// processes `engine` million messages per second has less than `share` of its highest rate. Enough
/// processors post.
RowResults cliff(const Parameters& p, const Inputs& in) {
  auto at = on_link(p, in);
  at.nic_message = kNsPerUs / in("engine");
  Workload w{.reuse = kOften, .advertise = kOften, .signalled = in("signalled")};
  w.size = in("size");
  w.burst = in("burst");
  w.qps = in("queue_pairs");
  w.verb = in("reads") > 0 ? Verb::kRead : Verb::kWrite;
  constexpr double kMost = 1 << 20;
  const auto rate = [&](double n) {
    (in("outstanding") > 0 ? w.depth : w.qps) = in("outstanding") > 0 ? n / w.qps : n;
    return throughput(Mode::kRnic, at, w, kOften).gbps;
  };
  return {cliff_of(rate, in("share"), kMost)};
}

/// The latency of messages of four sizes, once the program has registered its memory.
RowResults card_latencies(const Parameters& p, const Inputs& in) {
  RowResults out;
  for (const char* const size : {"first", "second", "third", "fourth"}) {
    out.push_back(latency_ns(Mode::kRnic, p, {.size = in(size), .hit_rate = 1}) / kNsPerUs);
  }
  return out;
}

/// What one flow receives by TCP with and without a copy. TCP runs on the core of the program, or
/// (`other`) on another core, so that the busier core limits.
RowResults receive_flow(const Parameters& p, const Inputs& in) {
  auto at = p;
  at.mss = in("mss");
  const auto rx = cost_at(Mode::kSockets, at, in("size")).rx;
  const auto network = rx[kProtocol] + rx[kInterrupt];
  const auto calls = rx[kSyscall] + rx[kWakeup];
  const auto time = [&](double copy) {
    return in("other") > 0 ? std::max(network, calls + copy) : network + calls + copy;
  };
  const auto bits = in("size") * kBitsPerOctet;
  return {bits / time(rx[kCopy]), bits / time(0)};
}

struct Named {
  std::string_view name;
  RowFunction function;
};
constexpr std::array kFunctions{Named{"clark", clark},
                                Named{"bus", bus},
                                Named{"chase", chase},
                                Named{"flextoe", flextoe},
                                Named{"full_duplex", full_duplex},
                                Named{"plain_card", plain_card},
                                Named{"cai", cai},
                                Named{"card", card},
                                Named{"card_latency", card_latency},
                                Named{"dalessandro", dalessandro},
                                Named{"t110", t110},
                                Named{"socket_latency", latency<Mode::kSockets>},
                                Named{"toe_latency", latency<Mode::kToe>},
                                Named{"soft_rdma", soft_rdma},
                                Named{"cores_at", cores_at},
                                Named{"zerocopy", zerocopy},
                                Named{"zerocopy_saving", zerocopy_saving},
                                Named{"reader", reader},
                                Named{"request", request},
                                Named{"stream", stream},
                                Named{"one_thread", one_thread},
                                Named{"card_latencies", card_latencies},
                                Named{"receive_flow", receive_flow},
                                Named{"cliff", cliff}};

RowFunction row_function(std::string_view compute) {
  const auto* const found = std::ranges::find(kFunctions, compute, &Named::name);
  if (found == kFunctions.end()) throw std::runtime_error("unknown computation");
  return found->function;
}

// Reading the rows
// ----------------
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kUses{"identity", "calibrated", "derived", "prediction",
                                                "cliff"};

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
  } else if (use == Use::kCliff) {
    out.low = out.published / kCriterion.cliff;
    out.high = out.published * kCriterion.cliff;
  } else {
    out.low = json.at("low").get<double>();
    out.high = json.at("high").get<double>();
  }
  return out;
}

/// A preset, and hosts drawn around it.
struct Hosts {
  Parameters preset{};
  std::vector<Parameters> drawn;
};

using AllHosts = std::map<std::string, Hosts>;

/// Draws enough hosts for each preset that no verdict depends on chance. The key "" has none.
AllHosts all_hosts() {
  constexpr std::size_t kSamples = 4000;
  AllHosts out{{"", {}}};
  for (const auto& name : preset_names()) {
    const auto set = preset(name).value();
    out[name] = {set.resolve(), draw(set, kSamples)};
  }
  return out;
}

/// Computes the model's number for each check, and the bands of predictions.
void compute(PublishedRow& row, const Hosts& hosts, RowFunction function, const Inputs& inputs) {
  const auto results = function(hosts.preset, inputs);
  if (results.size() < row.checks.size())
    throw std::runtime_error("a published row has more checks than results");
  for (std::size_t i = 0; i < row.checks.size(); ++i) row.checks[i].model = results[i];
  if (row.use != Use::kPrediction) return;
  for (std::size_t i = 0; i < row.checks.size(); ++i) {
    row.checks[i].band =
        band(hosts.drawn, [&](const Parameters& p) { return function(p, inputs)[i]; });
  }
}

PublishedRow row_of(const Json& json, const AllHosts& hosts) {
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
  const auto& inputs = json.at("inputs");
  compute(row, hosts.at(row.preset), row_function(json.at("compute").get<std::string>()),
          [&inputs](const char* name) { return inputs.at(name).get<double>(); });
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
    const auto hosts = all_hosts();
    const auto root = Json::parse(data_file("published.json"));
    for (const auto& row : root.at("rows")) out.push_back(row_of(row, hosts));
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
