// SPDX-License-Identifier: Apache-2.0
// The throughput of a stream. The link, a processor, the card or the memory bus limits it.
#include <algorithm>
#include <array>
#include <cmath>

#include "iwarp/offload_model/adapter.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

Ends bus_octets(Mode mode, const Parameters& p, const Workload& w) {
  const auto with_copies = [&w](double tx, double rx) {
    return Ends{w.size + 2 * tx, w.size + 2 * rx};
  };
  if (mode == Mode::kRnic) return with_copies(0, 0);
  if (mode == Mode::kToe) return with_copies(w.toe_copies * w.size, w.toe_copies * w.size);
  if (mode == Mode::kSoftware) {
    const auto [tx, rx] = stack_work(p, w);
    return with_copies(w.size + tx.copied, w.size + rx.copied);
  }
  const auto& path = path_of(mode);  // a cipher reads and writes, as a copy does
  return with_copies((path.copies_tx + path.ciphers) * w.size,
                     (path.copies_rx + path.ciphers) * w.size);
}

namespace {

/// Returns the time from the post of a message until the next one may follow in its place: the
/// receiver, or its card, answers with one octet. The payload of a Read is itself the answer.
double round_trip_ns(Mode mode, const Parameters& p, const Workload& w) {
  if (mode == Mode::kRnic && w.fetches()) return delivery_ns(mode, p, w);
  auto answer = w;
  answer.size = 1;
  return delivery_ns(mode, p, w) + latency_ns(mode, p, answer);
}

/// Returns the rate at which PCI Express carries messages between an RNIC and its hosts, in Gb/s.
double pcie_limit(const Parameters& p, const Workload& w, const CacheMisses& misses) {
  if (p.pcie_lanes == 0) return INFINITY;
  const auto link = pcie_of(p);
  const RnicMessage message{.size = w.size,
                            .inlined = w.inlined && !w.fetches(),
                            .list = p.doorbell_batch,
                            .signalled = w.signalled,
                            .interrupts = w.events ? w.signalled / w.moderation : 0,
                            .consumes_receive = w.verb == Verb::kSend,
                            .read = w.fetches()};
  auto ends = std::array{rnic_sends(link, message), rnic_receives(link, message)};
  if (w.verb == Verb::kAtomic) ends[0] += card_writes(link, w.size);
  auto target = misses;
  target.request = 0;
  ends[w.fetches() ? 0 : 1] += miss_traffic(link, target, p.context_size);
  ends[w.fetches() ? 1 : 0] += miss_traffic(link, misses, p.context_size);
  constexpr double kNsPerMillionth = 1e-3;
  return std::min(pcie_rate(link, ends[0]), pcie_rate(link, ends[1])) * kNsPerMillionth * w.size *
         kBitsPerOctet;
}

/// Returns the time that a card needs for each message of one queue pair. It fetches the requests
/// of a doorbell together, and those of the next doorbell after them. The processor itself writes
/// an inlined request into the card.
double queue_pair_ns(const Parameters& p, const Workload& w) {
  const bool written = w.inlined && !w.fetches();
  return std::max(p.nic_queue_pair, written ? 0 : p.dma_latency / p.doorbell_batch);
}

/// Computes T of rfc-notes/offload-model.md, a minimum with one row for each limit.
Throughput lowest_limit(Mode mode, const Parameters& p, const Workload& w, double cores,
                        double application, const CacheMisses& misses) {
  const auto cost = message_cost(mode, p, w);
  const auto bits = w.size * kBitsPerOctet;
  const auto own = w.size * application;
  const auto bus = bus_octets(mode, p, w);
  const bool rnic = mode == Mode::kRnic;
  const bool card = mode == Mode::kToe || rnic;
  std::array limits{
      Throughput{wire_of(mode, p, w).efficiency * p.link, "link"},
      Throughput{cores * bits / (cost.tx.total() + own), "sender's processor"},
      Throughput{cores * bits / (cost.rx.total() + own), "receiver's processor"},
      Throughput{p.memory_bus * bits / std::max(bus.tx, bus.rx), "memory bus"},
      Throughput{w.depth > 0 ? w.qps * w.depth * bits / round_trip_ns(mode, p, w) : INFINITY,
                 "number of messages in flight"},
      Throughput{card ? bits / (engine_ns(p, misses) + bits / p.nic_rate) : p.link, "card"},
      Throughput{rnic ? w.qps * bits / queue_pair_ns(p, w) : INFINITY, "queue pair"},
      Throughput{rnic ? pcie_limit(p, w, misses) : INFINITY, "PCI Express"},
  };
  return *std::ranges::min_element(limits, {}, &Throughput::gbps);
}

}  // namespace

Throughput throughput(Mode mode, const Parameters& p, const Workload& w, double cores,
                      double application) {
  constexpr double kNoticed = 1.05;
  const auto misses = mode == Mode::kRnic ? cache_misses(p, w) : CacheMisses{};
  auto out = lowest_limit(mode, p, w, cores, application, misses);
  const auto without = lowest_limit(mode, p, w, cores, application, {});
  if (without.gbps > kNoticed * out.gbps) out.limit = most_missed(misses);
  return out;
}

Ends load_at(Mode mode, const Parameters& p, const Workload& w, double gbps) {
  const auto cost = message_cost(mode, p, w);
  const auto messages_per_ns = gbps / (w.size * kBitsPerOctet);
  return {cost.tx.total() * messages_per_ns, cost.rx.total() * messages_per_ns};
}

/// Computes the probability that a message waits, C(c, rho), from the loss formula B(c, rho).
Queue queue_of(double load, double servers, double service_ns) {
  if (load >= 1) return {INFINITY, INFINITY, INFINITY};
  const auto offered = load * servers;
  double lost = 1;
  for (double c = 1; c <= servers; ++c) lost = offered * lost / (c + offered * lost);
  const auto waits = lost / (1 - load * (1 - lost));
  const auto drain = service_ns / (servers * (1 - load));
  constexpr double kLate = 0.01;
  return {waits * load / (1 - load), waits * drain, std::max(0.0, std::log(waits / kLate) * drain)};
}

Loaded loaded_at(Mode mode, const Parameters& p, const Workload& w, const Throughput& most,
                 double cores, double gbps) {
  constexpr double kMany = 4096;  // with more servers, almost no message waits
  const auto servers = most.limit.ends_with("processor")  ? std::floor(cores)
                       : most.limit.starts_with("number") ? std::min(std::floor(w.depth), kMany)
                                                          : 1;
  const auto messages = gbps / (w.size * kBitsPerOctet);
  const auto busy = gbps / most.gbps;
  const auto bus = bus_octets(mode, p, w);
  auto load = load_at(mode, p, w, gbps);
  const bool polls = mode == Mode::kRnic ? !w.events : w.sleeps == 0;
  auto& waiter = mode == Mode::kRnic && w.verb == Verb::kWrite ? load.tx : load.rx;
  if (polls) waiter = std::max(waiter, cores);
  return {busy, queue_of(busy, servers, servers * w.size * kBitsPerOctet / most.gbps).p99_ns,
          load.tx + load.rx, messages * std::max(bus.tx, bus.rx) / p.memory_bus};
}

}  // namespace iwarp::offload_model
