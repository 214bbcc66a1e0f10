// SPDX-License-Identifier: Apache-2.0
// What --metrics asks for: the figures of this process, for whoever watches it. One place for all.
#pragma once

#include <string>

#include "iwarp/net/metrics.hpp"

namespace iwarp::apps {

/// Opens the place and says on standard error which it is; empty: there is none. Once, and after
/// all forks. Error: it cannot be opened.
void start_metrics(const std::string& where);
/// Publishes the counters of `rnic`, if metrics are enabled, until the returned object is
/// destroyed.
net::MetricsServer::Watch watch_rnic(const net::Rnic& rnic);

}  // namespace iwarp::apps
