// SPDX-License-Identifier: Apache-2.0
// A measurement from either end: from the control connection through setup and warm-up to the
// results and the resources that both ends used.
#pragma once

#include <string>

#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

struct Measurement {
  Plan plan;
  Outcome outcome;
  Observed client;  ///< segments are those sent by this process's TCP
  Observed server;  ///< empty if `outcome.confirmed` is false

  /// Payload bytes, one way.
  double octets() const;
};

struct MeasureOptions {
  Intervals intervals;           ///< receives the progress of the measured phase
  bool signal_finishes = false;  ///< the first stop signal ends that phase early (common/stop.hpp)
};
/// Runs a measurement. Throws Error that says which end failed, and why; Interrupted on a stop
/// signal.
Measurement take_measurement(const Plan& plan, const net::Address& server,
                             MeasureOptions options = {});

struct ServeOptions {
  std::string host;               ///< where data connections are accepted
  const Test* only = nullptr;     ///< rejects other tests; null: accepts any
  bool own_process = false;       ///< this process serves one client: accepts counted streams, too
  options::TlsSettings tls = {};  ///< if TLS is enabled here, the client must use it
};
/// Serves one client. Reports a failure to the client, then throws it.
void serve_client(Socket socket, const ServeOptions& options);

}  // namespace iwarp::apps::measure
