// SPDX-License-Identifier: Apache-2.0
// A measurement, run from either end: control connection, setup, warm-up, results, and the
// resources that both ends used.
#pragma once

#include <string>

#include "measure/basics/control.hpp"
#include "measure/basics/plan.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

/// Returns the processors that this process may use, at least one.
std::vector<unsigned> allowed_cpus();
/// Pins this process to a processor. Does nothing if the system does not permit that.
void run_on(unsigned cpu);

struct Measurement : Outcome {
  Plan plan;
  Observed server;         ///< counters of the server; empty if `confirmed` is false
  std::string congestion;  ///< TCP congestion control of the client's data connection

  /// Returns the number of payload bytes in one direction.
  double octets() const { return static_cast<double>(messages) * static_cast<double>(plan.size); }
};

/// Runs a measurement as the client. If `shown` is not null, reports the progress of the measured
/// phase to it, and lets the first stop signal end that phase early (command_line/stop.hpp) instead
/// of aborting it. Throws Error with a text that says which end failed and why, or Interrupted on a
/// stop signal.
Measurement take_measurement(const Plan& plan, const net::Address& server,
                             Intervals* shown = nullptr);

struct ServeOptions {
  std::string host;            ///< host on which the server accepts data connections
  const Test* only = nullptr;  ///< the only test to accept; null means any test
  /// Whether this process serves only one client. Only such a process accepts counted streams,
  /// because their counters are the counters of the whole process.
  bool own_process = false;
  options::TlsSettings tls = {};  ///< if these settings enable TLS, the client must use TLS
};
/// Serves one client. If this fails, reports the error to the client and throws it.
void serve_client(Control control, const ServeOptions& options);

}  // namespace iwarp::apps::measure
