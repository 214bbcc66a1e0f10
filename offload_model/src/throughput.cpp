// SPDX-License-Identifier: Apache-2.0
// The throughput of a stream. The link, a processor, the card or the memory bus limits it.
#include <algorithm>
#include <array>

#include "iwarp/offload_model/performance.hpp"
#include "limits.hpp"

namespace iwarp::offload_model {

double memory_limit(double bus, double copies) {
  // Each octet crosses the memory bus once by DMA, and twice for each copy, which reads and writes
  // it.
  return bus * kBitsPerOctet / (1 + 2 * copies);
}

namespace {

double copies_of(Mode mode, const Workload& w) {
  switch (mode) {
    case Mode::kSockets:
      return 1;
    case Mode::kSoftware:
      return 1 + w.software_copies;
    case Mode::kToe:
      return w.toe_copies;
    case Mode::kRnic:
      break;
  }
  return 0;
}

}  // namespace

double card_ns(const Parameters& p, double size) {
  return p.nic_message + size * kBitsPerOctet / p.nic_rate;
}

/// Computes, in the symbols of rfc-notes/offload-model.md:
/// T = min(eff B; cores / max(C_tx, C_rx) per message; n / (t_nic + n / rate); M_bus / x)
Throughput throughput(Mode mode, const Parameters& p, const Workload& w, double cores,
                      double application) {
  const auto cost = message_cost(mode, p, w);
  const auto bits = w.size * kBitsPerOctet;
  const auto own = w.size * application;
  const bool card = mode == Mode::kToe || mode == Mode::kRnic;
  std::array limits{
      Throughput{wire_of(mode, p, w).efficiency * p.link, "link"},
      Throughput{cores * bits / (cost.tx.total() + own), "sender's processor"},
      Throughput{cores * bits / (cost.rx.total() + own), "receiver's processor"},
      Throughput{memory_limit(p.memory_bus, copies_of(mode, w)), "memory bus"},
      Throughput{card ? bits / card_ns(p, w.size) : p.link, "card"},
  };
  return *std::ranges::min_element(limits, {}, &Throughput::gbps);
}

Load load_at(Mode mode, const Parameters& p, const Workload& w, double gbps) {
  const auto cost = message_cost(mode, p, w);
  const auto messages_per_ns = gbps / (w.size * kBitsPerOctet);
  return {cost.tx.total() * messages_per_ns, cost.rx.total() * messages_per_ns};
}

}  // namespace iwarp::offload_model
