// SPDX-License-Identifier: Apache-2.0
// Holds the MetricsServer of the process.
#include "common/serving/metrics.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "common/base/error.hpp"
#include "common/serving/listen_error.hpp"

namespace iwarp::apps {

namespace {

/// Returns a reference to the pointer that owns the only MetricsServer of the process. At the end
/// of the process the server is destroyed and removes its socket from the file system.
std::unique_ptr<net::MetricsServer>& place() {
  static std::unique_ptr<net::MetricsServer> server;
  return server;
}

}  // namespace

void start_metrics(const std::string& where) {
  if (where.empty()) return;
  auto server = net::MetricsServer::open(net::parse_metrics_address(where).value());
  if (!server) {
    throw Error("cannot serve metrics at " + where + ": " + listen_failure(server.error()));
  }
  place() = std::move(*server);
  fmt::print(stderr, "iwarp: metrics at {}\n", net::to_string(place()->address()));
}

net::MetricsServer::Watch watch_rnic(const net::Rnic& rnic) {
  return place() != nullptr ? place()->watch(rnic) : net::MetricsServer::Watch();
}

}  // namespace iwarp::apps
