// SPDX-License-Identifier: Apache-2.0
// Derives the ratios of LAWS from the equations.
#include "iwarp/offload_model/laws.hpp"

#include "limits.hpp"

namespace iwarp::offload_model {

Laws ratios(Mode mode, const Parameters& p, const Workload& w, double application) {
  const auto before = message_cost(Mode::kSockets, p, w);
  const auto after = message_cost(mode, p, w);
  const bool receiver = before.rx.total() >= before.tx.total();
  const auto& a = receiver ? before.rx : before.tx;
  const auto& c = receiver ? after.rx : after.tx;
  // The card takes over the protocol and the checksum. The lag ratio is the time that the card
  // needs for a message (the same time as in throughput()), divided by the time that the host
  // needed for protocol and checksum.
  const auto moved = a[Component::kProtocol] + a[Component::kChecksum];
  const auto per_octet = a.total() / w.size;
  Laws out;
  out.alpha = moved > 0 ? card_ns(p, w.size) / moved : 0;
  out.gamma = application / per_octet;
  out.sigma = kBitsPerOctet / (per_octet * wire_of(mode, p, w).efficiency * p.link);
  out.beta = (c.total() + moved) / a.total();
  out.offloaded = moved / (c.total() + moved);
  return out;
}

}  // namespace iwarp::offload_model
