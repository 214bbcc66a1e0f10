// SPDX-License-Identifier: Apache-2.0
// LAWS (Shivam and Chase, NICELI 2003): the gain of protocol offload from four ratios. Knows no
// parameters of hosts; `ratios()` derives them from the equations of cost.hpp.
#pragma once

#include <algorithm>

#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

/// The four ratios, and the share that is offloaded.
struct Laws {
  double alpha = 1;      ///< lag: speed of the host over that of the card
  double gamma = 1;      ///< application: its processor time over that of communication
  double sigma = 1;      ///< wire: throughput of a host without application over that of the link
  double beta = 1;       ///< structure: communication work after offload over that before
  double offloaded = 1;  ///< share of the work after offload that the card does: p
};

/// Returns the throughput before offload, in units of what communication alone reaches on the host.
inline double before_offload(const Laws& l) { return 1 / std::max(l.sigma, 1 + l.gamma); }
/// Returns the throughput after offload, in the same unit.
inline double after_offload(const Laws& l) {
  const double host = l.gamma + (1 - l.offloaded) * l.beta;
  return 1 / std::max({l.sigma, host, l.offloaded * l.alpha * l.beta});
}
/// Returns the relative gain: 0.5 is 50 % more throughput, negative is a loss.
inline double gain(const Laws& l) { return after_offload(l) / before_offload(l) - 1; }
/// Returns the split at which host and card are equally busy: p*, at most 1.
inline double best_split(const Laws& l) {
  return std::min(1.0, (l.gamma + l.beta) / (l.beta * (1 + l.alpha)));
}

/// Returns the ratios for a change from sockets to `mode` (kToe or kRnic), on the side that is
/// busier with sockets. `application` is the program's own processor time per octet, in
/// nanoseconds. Their gain() equals that of throughput() with one processor, if the link, that side
/// or the card limits it.
Laws ratios(Mode mode, const Parameters& p, const Workload& w, double application);

}  // namespace iwarp::offload_model
