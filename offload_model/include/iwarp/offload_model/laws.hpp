// SPDX-License-Identifier: Apache-2.0
// LAWS (Shivam and Chase, NICELI 2003): the gain of protocol offload from four ratios. Knows no
// parameters of hosts; `ratios()` derives them from the equations of cost.hpp.
#pragma once

#include <algorithm>

#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

struct Laws {
  double alpha = 1;      ///< lag: speed of the host over that of the card
  double gamma = 1;      ///< application: its processor time over that of communication
  double sigma = 1;      ///< wire: what a host without application can saturate, over the link
  double beta = 1;       ///< structure: communication work left anywhere, over that before
  double offloaded = 1;  ///< share of the work left that the card does: p
};

/// Throughput before and after, in units of what communication alone would reach on the host.
inline double before_offload(const Laws& l) { return 1 / std::max(l.sigma, 1 + l.gamma); }
inline double after_offload(const Laws& l) {
  const double host = l.gamma + (1 - l.offloaded) * l.beta;
  return 1 / std::max({l.sigma, host, l.offloaded * l.alpha * l.beta});
}
/// Relative: 0.5 is half as much again, negative is a loss.
inline double gain(const Laws& l) { return after_offload(l) / before_offload(l) - 1; }
/// The split that gives host and card equally much to do: p*, at most 1.
inline double best_split(const Laws& l) {
  return std::min(1.0, (l.gamma + l.beta) / (l.beta * (1 + l.alpha)));
}

/// The ratios of going from sockets to `mode` (kToe or kRnic), on the side that sockets keep
/// busier. `application` is the program's own processor time per octet, in nanoseconds. gain() of
/// them is what throughput() says with one processor, where link, that side or the card is the
/// limit.
Laws ratios(Mode mode, const Parameters& p, const Workload& w, double application);

}  // namespace iwarp::offload_model
