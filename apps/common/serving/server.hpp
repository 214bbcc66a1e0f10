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
  /// Maximum number of clients. When it is reached, the server evicts an idle client, or rejects
  /// the request with the text "busy" if no client is idle.
  unsigned max_clients = 64;
  std::string metrics;  ///< value of --metrics: an address or a path; empty if metrics are off
  LogOptions log;
};

/// Serves one client. Each call has a thread of its own. If the handler throws, only this client is
/// disconnected.
using ClientHandler = std::function<void(net::Rnic&, net::ConnectRequest&, ClientSlot&)>;

/// Prints "listening on ADDR:PORT" and serves until SIGINT or SIGTERM arrives. Returns once all
/// handlers have returned. `what` is the server's name in its messages. Throws Error if the server
/// cannot listen.
void run_server(const std::string& what, const ServerOptions& server, const CommonOptions& common,
                const ClientHandler& handler);

}  // namespace iwarp::apps
