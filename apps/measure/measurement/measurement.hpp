// SPDX-License-Identifier: Apache-2.0
// A measurement, run from either end: control connection, setup, warm-up, results, and the
// resources that both ends used.
#pragma once

#include <string>

#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

struct Measurement {
  Plan plan;
  Outcome outcome;
  /// Counters of the client; its segments are those that the TCP of this process sent.
  Observed client;
  Observed server;  ///< counters of the server; empty if `outcome.confirmed` is false

  /// Returns the number of payload bytes in one direction.
  double octets() const;
};

struct MeasureOptions {
  Intervals intervals;  ///< reports the progress of the measured phase
  /// The first stop signal ends the measured phase early (common/base/stop.hpp).
  bool signal_finishes = false;
};
/// Runs a measurement as the client. Throws Error that says which end failed, and why, or
/// Interrupted on a stop signal.
Measurement take_measurement(const Plan& plan, const net::Address& server,
                             MeasureOptions options = {});

struct ServeOptions {
  std::string host;            ///< host on which data connections are accepted
  const Test* only = nullptr;  ///< the only test to accept; null: accepts any test
  /// Whether this process serves one client only. Then it accepts counted streams: the counters are
  /// those of the whole process.
  bool own_process = false;
  options::TlsSettings tls = {};  ///< if these enable TLS, the client must use it
};
/// Serves one client. If that fails, reports the failure to the client and throws it.
void serve_client(Socket socket, const ServeOptions& options);

}  // namespace iwarp::apps::measure
