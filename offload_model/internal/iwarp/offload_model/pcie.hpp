// SPDX-License-Identifier: Apache-2.0
// The traffic between host and card on PCI Express, after the model of Neugebauer et al. (SIGCOMM
// 2018): counts the transaction-layer packets of each step of a message in both directions, and
// divides what the link can carry by the busier direction. It models rates, not latency.
#pragma once

namespace iwarp::offload_model {

/// A link, and what the hosts negotiated for it.
struct PcieLink {
  double generation = 3;      ///< 1 to 7
  double lanes = 16;          ///< 1 to 32
  double payload = 256;       ///< Maximum Payload Size in octets
  double read_request = 512;  ///< Maximum Read Request Size in octets
};

/// Octets on the link, headers included.
struct PcieTraffic {
  double to_card = 0;
  double to_host = 0;
  /// Adds the traffic of a step.
  PcieTraffic& operator+=(const PcieTraffic& o);
  /// Returns the traffic of `count` such steps; `count` may be a fraction.
  friend PcieTraffic operator*(double count, PcieTraffic one) {
    return {count * one.to_card, count * one.to_host};
  }
};

/// Returns what transaction-layer packets can use of each direction, in Gb/s: the raw rate less
/// line coding, acknowledgements, flow control and clock compensation.
double pcie_gbps(const PcieLink& link);

/// The card writes `octets` into memory of the host by DMA.
PcieTraffic card_writes(const PcieLink& link, double octets);
/// The card reads `octets` of memory of the host by DMA.
PcieTraffic card_reads(const PcieLink& link, double octets);
/// The processor writes `octets` into a register of the card (MMIO): a doorbell, or a work request.
PcieTraffic host_writes(const PcieLink& link, double octets);

/// How a message passes between host and RNIC.
struct RnicMessage {
  double size = 64;              ///< octets
  bool inlined = false;          ///< the payload is part of the work request
  double list = 1;               ///< work requests per doorbell
  double signalled = 1;          ///< completions per message, 0..1
  double interrupts = 0;         ///< interrupts per message; 0 if the program polls
  bool consumes_receive = true;  ///< Send: the receiving card fetches a posted receive
  bool read = false;             ///< RDMA Read: the receiving host posts the request
};
/// Returns the traffic at the host that sends payload: doorbell, request, payload, completion and
/// interrupt or, for an RDMA Read, only the payload.
PcieTraffic rnic_sends(const PcieLink& link, const RnicMessage& m);
/// Returns the traffic at the host that receives payload: request, payload, completion, interrupt.
PcieTraffic rnic_receives(const PcieLink& link, const RnicMessage& m);

/// Returns how many steps of this traffic the link carries, in millions per second.
double pcie_rate(const PcieLink& link, const PcieTraffic& traffic);

}  // namespace iwarp::offload_model
