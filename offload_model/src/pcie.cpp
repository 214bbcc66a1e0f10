// SPDX-License-Identifier: Apache-2.0
// Sizes of packets, and the intervals of acknowledgements and flow control updates, are those of
// the PCI Express Base Specification. The tables of the intervals (revision 5.0, tables 2-46 to
// 2-48 and 3-7 to 3-9) follow from one formula, so the code has the formula.
#include "iwarp/offload_model/pcie.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace iwarp::offload_model {

namespace {

constexpr double kFraming = 8;  // framing, sequence number and LCRC of the data link layer
constexpr double kRequestHeader = kFraming + 16;  // address of 64 bits
constexpr double kCompletionHeader = kFraming + 12;
constexpr double kWorkRequest = 64;     // one cache line
constexpr double kReceiveRequest = 16;  // one scatter element; a card fetches several at once
constexpr double kCompletion = 64;
constexpr double kInterruptWrite = 4;
constexpr double kDoorbell = 8;

double packets_of(double octets, double each) { return std::ceil(octets / each); }

/// Returns the symbol times after which a packet of the largest size must be acknowledged.
double acknowledge_interval(const PcieLink& link) {
  constexpr double kPacketOverhead = 28;
  constexpr double kMediumPayload = 256;
  const bool medium = link.payload <= kMediumPayload;
  const double factor = link.lanes >= 16  ? (medium ? 3.0 : 2.0)
                        : link.lanes >= 8 ? (medium ? 2.5 : 1.0)
                                          : (medium ? 1.4 : 1.0);
  const double delay = link.generation < 2 ? 19 : link.generation < 3 ? 70 : 115;
  return std::floor((link.payload + kPacketOverhead) * factor / link.lanes + delay);
}

}  // namespace

PcieTraffic& PcieTraffic::operator+=(const PcieTraffic& o) {
  to_card += o.to_card;
  to_host += o.to_host;
  return *this;
}

double pcie_gbps(const PcieLink& link) {
  constexpr double kSymbolsBetweenSkips = 1538;
  constexpr double kSkip = 4;
  constexpr double kAcknowledgement = 8;  // and a flow control update, at the same intervals
  const double coding = link.generation < 3   ? 8.0 / 10
                        : link.generation < 6 ? 128.0 / 130
                                              : 242.0 / 256;
  const double transfers =
      link.generation < 3 ? 2.5 * link.generation : 8 * std::pow(2, link.generation - 3);
  const double overhead =
      2 * kAcknowledgement / acknowledge_interval(link) + kSkip / kSymbolsBetweenSkips;
  return transfers * coding * link.lanes * (1 - overhead);
}

PcieTraffic card_writes(const PcieLink& link, double octets) {
  return {0, packets_of(octets, link.payload) * kRequestHeader + octets};
}

PcieTraffic card_reads(const PcieLink& link, double octets) {
  return {packets_of(octets, link.payload) * kCompletionHeader + octets,
          packets_of(octets, link.read_request) * kRequestHeader};
}

PcieTraffic host_writes(const PcieLink& link, double octets) {
  return {packets_of(octets, link.payload) * kRequestHeader + octets, 0};
}

namespace {

PcieTraffic completes(const PcieLink& link, const RnicMessage& m) {
  auto out = m.signalled * card_writes(link, kCompletion);
  out += m.interrupts * card_writes(link, kInterruptWrite);
  return out;
}

/// Returns the traffic of posting a request and of its completion, without payload by DMA.
PcieTraffic posts(const PcieLink& link, const RnicMessage& m) {
  // A request with inlined payload fills whole cache lines.
  constexpr double kInlineHeader = 36;
  const auto lines = m.inlined ? packets_of(kInlineHeader + m.size, kWorkRequest) : 1;
  auto out = completes(link, m);
  out += 1 / m.list * host_writes(link, kDoorbell);
  out += card_reads(link, lines * kWorkRequest);
  return out;
}

}  // namespace

PcieTraffic rnic_sends(const PcieLink& link, const RnicMessage& m) {
  auto out = m.read ? PcieTraffic{} : posts(link, m);
  if (!m.inlined) out += card_reads(link, m.size);
  return out;
}

PcieTraffic rnic_receives(const PcieLink& link, const RnicMessage& m) {
  auto out = m.read ? posts(link, m) : m.consumes_receive ? completes(link, m) : PcieTraffic{};
  if (m.consumes_receive) out += card_reads(link, kReceiveRequest);
  out += card_writes(link, m.size);
  return out;
}

double pcie_rate(const PcieLink& link, const PcieTraffic& traffic) {
  constexpr double kBits = 8;
  constexpr double kMillionsPerGiga = 1000;
  return pcie_gbps(link) / (kBits * std::max(traffic.to_card, traffic.to_host)) * kMillionsPerGiga;
}

}  // namespace iwarp::offload_model
