// SPDX-License-Identifier: Apache-2.0
// Implements the option --metrics: publishes the counters of this process at an address or a path.
#pragma once

#include <string>

#include "iwarp/net/metrics.hpp"

namespace iwarp::apps {

/// Opens the metrics server at the address or path `where`, and prints `where` on standard error.
/// Does nothing if `where` is empty. Call it once, after all forks. Throws Error if the server
/// cannot listen.
void start_metrics(const std::string& where);
/// Publishes the counters of `rnic`, if metrics are enabled, until the returned object is
/// destroyed.
net::MetricsServer::Watch watch_rnic(const net::Rnic& rnic);

}  // namespace iwarp::apps
