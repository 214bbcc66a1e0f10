// SPDX-License-Identifier: Apache-2.0
// A server with one thread per client: listens, hands each request to a handler, and bounds how
// many clients there are at a time. Ends when a stop signal comes.
#pragma once

#include <functional>
#include <string>

#include "common/base/log.hpp"
#include "common/connection/options.hpp"
#include "common/serving/client_slot.hpp"
#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

struct ServerOptions {
  net::Address listen;
  /// More are rejected with the words "busy", unless one of them is idle: then that one goes.
  unsigned max_clients = 64;
  std::string metrics;  ///< as --metrics has it; empty: none
  LogOptions log;
};

/// Serves one client, in a thread of its own. What it throws ends that client only.
using ClientHandler = std::function<void(net::Rnic&, net::ConnectRequest&, ClientSlot&)>;

/// Returns after SIGINT or SIGTERM, when all handlers have returned. Prints "listening on
/// ADDR:PORT" once it does. `what` names the server in its messages. Error: cannot listen.
void run_server(const std::string& what, const ServerOptions& server, const CommonOptions& common,
                const ClientHandler& handler);

}  // namespace iwarp::apps
