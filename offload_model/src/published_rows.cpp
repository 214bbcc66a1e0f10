// SPDX-License-Identifier: Apache-2.0
// Computes each published row from the equations. This file contains no constants of hosts: the
// inputs of the rows are in published.json, and the costs of the hosts in the presets.
#include <algorithm>
#include <array>
#include <cmath>

#include "iwarp/offload_model/performance.hpp"
#include "limits.hpp"
#include "published.hpp"

namespace iwarp::offload_model {

namespace {

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

RowResults bus(const Parameters&, const Inputs& in) {
  const auto free = memory_limit(in("bus"), 0);
  const auto less = [&](double copies) {
    return kPercent * (1 - memory_limit(in("bus"), copies) / free);
  };
  return {memory_limit(in("bus"), 1), less(1), less(2)};
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

RowResults socket_latency(const Parameters& p, const Inputs& in) {
  return {latency_ns(Mode::kSockets, p, {.size = in("size")}) / kNsPerUs};
}

RowResults toe_latency(const Parameters& p, const Inputs& in) {
  return {latency_ns(Mode::kToe, p, {.size = in("size")}) / kNsPerUs};
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

/// A stream of an RNIC on another link, with its packets and its bus.
RowResults stream(const Parameters& p, const Inputs& in) {
  auto at = p;
  at.link = at.nic_rate = in("link");
  at.mss = in("mtu");
  at.frame_overhead = in("headers");
  at.pcie_generation = in("pcie");
  const Workload w{.size = in("size"), .reuse = kOften, .advertise = kOften, .one_sided = true};
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
                   .one_sided = true};
  return {throughput(Mode::kRnic, at, w, 1).gbps * kNsPerUs / (w.size * kBitsPerOctet)};
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
                                Named{"socket_latency", socket_latency},
                                Named{"toe_latency", toe_latency},
                                Named{"soft_rdma", soft_rdma},
                                Named{"cores_at", cores_at},
                                Named{"zerocopy", zerocopy},
                                Named{"zerocopy_saving", zerocopy_saving},
                                Named{"reader", reader},
                                Named{"request", request},
                                Named{"stream", stream},
                                Named{"one_thread", one_thread},
                                Named{"card_latencies", card_latencies},
                                Named{"receive_flow", receive_flow}};

}  // namespace

RowFunction row_function(std::string_view compute) {
  const auto* const found = std::ranges::find(kFunctions, compute, &Named::name);
  return found == kFunctions.end() ? nullptr : found->function;
}

}  // namespace iwarp::offload_model
