// SPDX-License-Identifier: Apache-2.0
// LAWS (Shivam and Chase, NICELI 2003): computes the gain of protocol offload from four ratios.
// Only ratios() uses parameters of hosts. It derives the ratios from the equations of cost.hpp.
#pragma once

#include <algorithm>

#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

/// The four ratios of the LAWS model, and the share of the work that is offloaded.
struct Laws {
  double alpha = 1;  ///< lag ratio: speed of the host divided by speed of the card
  /// Application ratio: processor time of the application divided by that of communication.
  double gamma = 1;
  /// Wire ratio: throughput of a host that only communicates, divided by the throughput of the
  /// link.
  double sigma = 1;
  /// Structural ratio: communication work after offload, divided by communication work before
  /// offload.
  double beta = 1;
  double offloaded = 1;  ///< p: share of the communication work after offload that the card does
};

/// Returns the throughput before offload. The unit is the throughput of a host that does nothing
/// but communicate.
inline double before_offload(const Laws& l) { return 1 / std::max(l.sigma, 1 + l.gamma); }
/// Returns the throughput after offload, in the unit of before_offload().
inline double after_offload(const Laws& l) {
  const double host = l.gamma + (1 - l.offloaded) * l.beta;
  return 1 / std::max({l.sigma, host, l.offloaded * l.alpha * l.beta});
}
/// Returns the relative gain in throughput: 0.5 is 50 % more, and a negative value is a loss.
inline double gain(const Laws& l) { return after_offload(l) / before_offload(l) - 1; }
/// Returns p*, the value of `offloaded` at which host and card are equally busy, at most 1.
inline double best_split(const Laws& l) {
  return std::min(1.0, (l.gamma + l.beta) / (l.beta * (1 + l.alpha)));
}

/// Returns the ratios for a change from sockets to `mode` (kToe or kRnic). The ratios describe the
/// sender or the receiver, whichever spends more processor time with sockets. `application` is the
/// program's own processor time per octet, in nanoseconds. gain() of these ratios equals the gain
/// in throughput() with one processor, if the link, the described host or the card limits the
/// throughput.
Laws ratios(Mode mode, const Parameters& p, const Workload& w, double application);

}  // namespace iwarp::offload_model
