// SPDX-License-Identifier: Apache-2.0
// How each published row comes out of the equations. No constants of hosts here: the rows' inputs
// are in published.json, the hosts in the presets.
#include <algorithm>
#include <array>

#include "iwarp/offload_model/performance.hpp"
#include "limits.hpp"
#include "published.hpp"

namespace iwarp::offload_model {

namespace {

using enum Component;

constexpr double kPercent = 100;
constexpr double kNsPerUs = 1000;
constexpr double kOctetsPerKb = 1000;

Parameters host(const char* name) { return preset(name).value().resolve(); }

double gbps_of(double size, const Ledger& side) { return size * kBitsPerOctet / side.total(); }

/// Cost with the row's size, polling receiver or not.
Cost cost_at(Mode mode, const Parameters& p, double size) {
  return message_cost(mode, p, Workload{.size = size});
}

RowResults clark(const Inputs& in) {
  Cost cost;
  cost.rx[kCopy] = in("copy_user") + in("copy_network");
  cost.rx[kChecksum] = in("checksum");
  cost.rx[kProtocol] = in("driver") + in("protocol");
  cost.rx[kSyscall] = in("system");
  const auto touching = cost.rx[kCopy] + cost.rx[kChecksum];
  return {kPercent * copy_share(cost), kPercent * touching / cost.total()};
}

RowResults bus(const Inputs& in) {
  const auto free = memory_limit(in("bus"), 0);
  const auto less = [&](double copies) {
    return kPercent * (1 - memory_limit(in("bus"), copies) / free);
  };
  return {memory_limit(in("bus"), 1), less(1), less(2)};
}

RowResults chase(const Inputs& in) {
  const auto left = in("total") - in("data_before") + in("data_after");
  return {kPercent * (in("total") / left - 1),
          kPercent * (in("load_before") / in("load_after") - 1)};
}

RowResults full_duplex(const Inputs& in) {
  const auto p = host("2003");
  const Workload w{.size = in("size")};
  const auto load =
      load_at(Mode::kSockets, p, w, wire_of(Mode::kSockets, p, w).efficiency * p.link);
  return {kPercent * (load.tx + load.rx)};
}

RowResults dalessandro(const Inputs& in) {
  const auto p = host("2003");
  Workload w{.size = in("size"), .hit_rate = 1};
  const auto rate = wire_of(Mode::kSockets, p, w).efficiency * p.link;
  const auto sockets = load_at(Mode::kSockets, p, w, rate);
  const auto rnic = load_at(Mode::kRnic, p, w, rate);
  return {kPercent * sockets.tx, kPercent * sockets.rx, kPercent * std::max(rnic.tx, rnic.rx)};
}

RowResults t110(const Inputs& in) {
  auto p = host("2007");
  const auto slower = p.clock / in("clock");
  const auto load = [&](double copies) {
    const Workload w{.size = in("size"), .toe_copies = copies};
    return kPercent * slower * load_at(Mode::kToe, p, w, in("rate")).rx;
  };
  const auto plain = cost_at(Mode::kSockets, p, in("size"));
  return {load(0), load(1), gbps_of(in("size"), plain.rx) / slower};
}

RowResults hurwitz(const Inputs& in) {
  const auto p = host("2007");
  const auto plain = cost_at(Mode::kSockets, p, in("size"));
  auto polled = p;
  polled.interrupt = 0;
  const auto sockets = latency_ns(Mode::kSockets, p, Workload{.size = 1});
  const auto toe = latency_ns(Mode::kToe, polled, Workload{.size = 1, .sleeps = 0});
  return {gbps_of(in("size"), plain.rx), sockets / kNsPerUs, sockets / toe};
}

RowResults flextoe(const Inputs& in) {
  const auto linux_total = in("linux_driver") + in("linux_stack") + in("linux_sockets") +
                           in("linux_app") + in("linux_other");
  const auto toe =
      linux_total - in("linux_driver") - in("linux_stack") + in("toe_driver") + in("toe_stack");
  return {toe, kPercent * (1 - toe / linux_total),
          kPercent * (1 - in("flextoe_total") / in("toe_total")),
          kPercent * (in("tas_driver") + in("tas_stack")) / in("tas_total")};
}

RowResults cai(const Inputs& in) {
  const auto cost = cost_at(Mode::kSockets, host("100g"), in("size"));
  return {gbps_of(in("size"), cost.rx), kPercent * cost.rx[kCopy] / cost.rx.total(),
          gbps_of(in("size"), cost.tx)};
}

RowResults zerocopy(const Inputs&) {
  return {zerocopy_crossover(host("100g")).octets / kOctetsPerKb};
}

RowResults cards(const Inputs& in) {
  const auto ne010 = host("2007");
  const Workload large{.size = in("large"), .hit_rate = 1};
  const Workload small{.size = in("small"), .hit_rate = 1};
  const auto stream = throughput(Mode::kRnic, ne010, large, 1);
  // The registration is cached and off the critical path: no term for it.
  return {kPercent * stream.gbps / ne010.link, latency_ns(Mode::kRnic, ne010, small) / kNsPerUs,
          latency_ns(Mode::kRnic, host("100g"), small) / kNsPerUs};
}

RowResults soft_rdma(const Inputs& in) {
  const auto p = host("2007");
  Workload w{.size = in("size"), .crc = false};
  const auto off = gbps_of(in("size"), message_cost(Mode::kSoftware, p, w).rx);
  w.crc = true;
  return {off, gbps_of(in("size"), message_cost(Mode::kSoftware, p, w).rx) / off};
}

}  // namespace

RowResults compute_row(int number, const Inputs& input) {
  constexpr std::array kRows{clark,   bus,     chase, full_duplex, dalessandro, t110,
                             hurwitz, flextoe, cai,   zerocopy,    cards,       soft_rdma};
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < kRows.size() ? kRows[index](input) : RowResults{};
}

}  // namespace iwarp::offload_model
