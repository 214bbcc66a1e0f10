// SPDX-License-Identifier: Apache-2.0
// From the equations to the ratios of LAWS, and from the ratios to words.
#include "iwarp/offload_model/laws.hpp"

#include <fmt/format.h>

#include "limits.hpp"

namespace iwarp::offload_model {

Laws ratios(Mode mode, const Parameters& p, const Workload& w, double application) {
  const auto before = message_cost(Mode::kSockets, p, w);
  const auto after = message_cost(mode, p, w);
  const bool receiver = before.rx.total() >= before.tx.total();
  const auto& a = receiver ? before.rx : before.tx;
  const auto& c = receiver ? after.rx : after.tx;
  // The card takes over the protocol and the checksum; its time is counted at the host's speed.
  const auto moved = a[Component::kProtocol] + a[Component::kChecksum];
  const auto per_octet = a.total() / w.size;
  Laws out;
  out.alpha = p.nic_lag;
  out.gamma = application / per_octet;
  out.sigma = kBitsPerOctet / (per_octet * p.link);
  out.beta = (c.total() + moved) / a.total();
  out.offloaded = moved / (c.total() + moved);
  return out;
}

std::string verdict(const Laws& l) {
  const auto percent = 100 * gain(l);
  const auto card = l.offloaded * l.alpha * l.beta;
  const auto host = l.gamma + (1 - l.offloaded) * l.beta;
  const auto before = 1 + l.gamma;
  if (l.sigma >= before && l.sigma >= card && l.sigma >= host) {
    return fmt::format(
        "no more throughput, because the host fills the link already (sigma {:.2f} >= 1 + gamma "
        "{:.2f}); what is gained is processor time",
        l.sigma, before);
  }
  if (card > std::max(l.sigma, before)) {
    return fmt::format(
        "a loss of {:.0f} %, because the card is slower than the host it relieves (alpha beta "
        "{:.2f} "
        "> max(sigma, 1 + gamma) {:.2f})",
        -percent, card, std::max(l.sigma, before));
  }
  const auto* const then = l.sigma >= host && l.sigma >= card ? "the link is full"
                           : host >= card                     ? "the host is busy with what is left"
                                                              : "the card is busy";
  if (percent <= -1) {
    return fmt::format("a loss of {:.0f} %, because the host has more to do than before", -percent);
  }
  if (percent < 1) return fmt::format("no benefit, because {} as before", then);
  return fmt::format("up to {:.0f} % more throughput; then {}", percent, then);
}

}  // namespace iwarp::offload_model
