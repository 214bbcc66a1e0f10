// SPDX-License-Identifier: Apache-2.0
// One-way latency. The first packet goes through every stage in turn; the other packets follow at
// the pace of the slowest stage. Therefore the latency is not the sum of the processor times of
// both ends.
#include <algorithm>

#include "iwarp/offload_model/adapter.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

namespace {

/// Returns the time in ns that the slower end of a stream needs for each further octet, without the
/// steps of the costs.
double slope_of(Mode mode, const Parameters& p, Workload w) {
  // These two sizes are so far apart that the steps of the costs do not matter. Both are multiples
  // of every segment size.
  constexpr double kNear = 1 << 26;
  constexpr double kFar = 1 << 28;
  w.size = kNear;
  const auto near = message_cost(mode, p, w);
  w.size = kFar;
  const auto far = message_cost(mode, p, w);
  return std::max(far.tx.total() - near.tx.total(), far.rx.total() - near.rx.total()) /
         (kFar - kNear);
}

double wire_ns(const Parameters& p, double octets) {
  return (octets + p.frame_overhead) * kBitsPerOctet / p.link;
}

/// Returns the time that the hosts need before the first packet can be sent and after the last
/// packet has arrived. `first` is the number of octets that the sender passes to TCP before it can
/// send. `last` is the number of octets in the last piece that the receiver gets.
double host_path(Mode mode, const Parameters& p, const Workload& w, double first, double last) {
  const auto calls = p.syscall_tx + p.syscall_rx;
  if (mode == Mode::kToe) {
    return calls + p.toe_descriptor + p.toe_completion + p.dma_latency +
           w.toe_copies * (first * p.copy_tx + last * p.copy_rx);
  }
  const auto& path = path_of(mode);
  const auto kernel = calls + p.packet_tx + p.packet_rx +
                      segments_ns(p.small_segment_tx, p.segment_tx, first, 1) +
                      segments_ns(p.small_segment_rx, p.segment_rx, last, 1) +
                      path_cost(path, p, first).tx.total() + path_cost(path, p, last).rx.total();
  if (mode != Mode::kSoftware) return kernel;
  const auto framing = [&](double octets) {
    auto piece = w;
    piece.size = std::min(octets, w.size);
    return framing_cost(p, piece);
  };
  return kernel + framing(first).tx.total() + framing(last).rx.total();
}

/// Computes L_a of rfc-notes/offload-model.md. The message pays for a whole interrupt, because no
/// other message is in flight.
double stream_latency(Mode mode, const Parameters& p, const Workload& w) {
  const auto octets = wire_of(mode, p, w).octets;
  const auto packet = std::min(octets, p.mss);
  const auto record = path_of(mode).ciphers * kTlsRecord;  // both ends need a whole record
  const auto first = std::min(octets, mode == Mode::kToe ? p.toe_call : std::max(p.gso, record));
  const auto last = std::min(octets, mode == Mode::kToe ? p.mss : std::max(p.gro, record));
  const auto on_link = kBitsPerOctet * (1 + p.frame_overhead / p.mss) / p.link;
  return host_path(mode, p, w, first, last) + p.coalesce + p.interrupt + w.sleeps * p.wakeup +
         2 * p.nic_latency + wire_ns(p, packet) + (first - packet) * on_link +
         (octets - first) * std::max(on_link, slope_of(mode, p, w));
}

/// Returns the time in which the first packet of a message passes PCI Express at both ends. A card
/// reads the packet before it sends it, and receives it before it writes it.
double bus_ns(const Parameters& p, double octets) {
  if (p.pcie_lanes == 0) return 0;
  const auto link = pcie_of(p);
  return (card_reads(link, octets).to_card + card_writes(link, octets).to_host) * kBitsPerOctet /
         pcie_gbps(link);
}

/// Computes L_d of rfc-notes/offload-model.md.
double rnic_latency(const Parameters& p, const Workload& w) {
  constexpr double kReadRequest = 28;  // RFC 5040, section 4.4
  const auto misses = cache_misses(p, w);
  const auto ask = w.fetches() ? p.dma_latency + 2 * p.nic_latency + wire_ns(p, kReadRequest) : 0;
  const auto wire = wire_of(Mode::kRnic, p, w);
  const auto first = std::min(wire.octets, p.mss);
  const auto rate = std::min(p.link * p.mss / (p.mss + p.frame_overhead), p.nic_rate);
  return p.post + p.doorbell + (w.inlined && !w.fetches() ? 0 : p.dma_latency) + bus_ns(p, first) +
         2 * p.nic_latency + wire_ns(p, first) + (wire.octets - first) * kBitsPerOctet / rate +
         p.completion + ask + (2 * misses.at_either_end() + misses.request) * p.pcie_read +
         (w.events ? p.interrupt + p.wakeup : 0);
}

}  // namespace

double latency_ns(Mode mode, const Parameters& p, const Workload& w, bool advertise,
                  double registrations) {
  constexpr double kAdvertOctets = 16;  // STag, TO and length, as in rping
  if (mode != Mode::kRnic) return stream_latency(mode, p, w);
  auto out = rnic_latency(p, w);
  if (advertise) {
    auto small = w;
    small.size = kAdvertOctets;
    small.verb = Verb::kSend;
    out += rnic_latency(p, small) / w.advertise;
  }
  return out + registrations * (w.on_demand ? p.page_fault / w.reuse : memory_ns(p, w));
}

double delivery_ns(Mode mode, const Parameters& p, const Workload& w) {
  return latency_ns(mode, p, w, true, w.hit_rate < 1 ? 2 : 0);
}

}  // namespace iwarp::offload_model
