// SPDX-License-Identifier: Apache-2.0
// A measurement from either end, from the control connection to the report.
#pragma once

#include <string>

#include "conform/link.hpp"
#include "perf/measure.hpp"
#include "perf/plan.hpp"

namespace iwarp::apps::perf {

/// Error: which of both ends failed, and why.
Report measure(const Plan& plan, const net::Address& server);

struct ServeOptions {
  std::string host;            ///< where the data connections are taken
  const Test* only = nullptr;  ///< refuse others; null: whatever the client wants
};
/// Serves one client. What goes wrong is told to the client, then thrown.
void serve_client(conform::Link link, const ServeOptions& options);

}  // namespace iwarp::apps::perf
