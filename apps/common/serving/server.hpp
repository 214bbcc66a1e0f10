// SPDX-License-Identifier: Apache-2.0
// A server with one thread per client: listens, passes each request to a handler, and limits the
// number of clients. A stop signal ends the server.
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
  /// Maximum number of clients. Beyond it, a request is rejected with the text "busy", unless a
  /// client is idle: then that client is evicted instead.
  unsigned max_clients = 64;
  std::string metrics;  ///< the value of --metrics; empty for none
  LogOptions log;
};

/// Serves one client, in a thread of its own. If it throws, only this client is disconnected.
using ClientHandler = std::function<void(net::Rnic&, net::ConnectRequest&, ClientSlot&)>;

/// Prints "listening on ADDR:PORT" and serves until SIGINT or SIGTERM. Returns once all handlers
/// have returned. `what` names the server in its messages. Throws Error if it cannot listen.
void run_server(const std::string& what, const ServerOptions& server, const CommonOptions& common,
                const ClientHandler& handler);

}  // namespace iwarp::apps
