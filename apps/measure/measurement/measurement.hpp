// SPDX-License-Identifier: Apache-2.0
// A measurement from either end: from the control connection, over set-up and warm-up, to what was
// seen and what both ends used.
#pragma once

#include <string>

#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

struct Measurement {
  Plan plan;
  Outcome outcome;
  Observed client;  ///< segments are those that this process's TCP has sent
  Observed server;  ///< nothing if `outcome.confirmed` is false

  /// Of payload, one way.
  double octets() const;
};

struct MeasureOptions {
  Intervals intervals;           ///< told of the phase that counts
  bool signal_finishes = false;  ///< the first stop signal ends that phase early (common/stop.hpp)
};
/// Error: which of both ends failed, and why. Interrupted: a stop signal came.
Measurement take_measurement(const Plan& plan, const net::Address& server,
                             MeasureOptions options = {});

struct ServeOptions {
  std::string host;               ///< where the data connections are taken
  const Test* only = nullptr;     ///< refuse others; null: whatever the client wants
  bool own_process = false;       ///< this process is for one client: counted streams, too
  options::TlsSettings tls = {};  ///< wanted here, it is wanted of the client
};
/// Serves one client. What goes wrong is told to the client, then thrown.
void serve_client(Socket socket, const ServeOptions& options);

}  // namespace iwarp::apps::measure
