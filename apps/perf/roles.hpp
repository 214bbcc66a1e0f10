// SPDX-License-Identifier: Apache-2.0
// The two roles of a measurement, for either kind of transport: the client drives and times each
// phase, the server serves one and measures its own use of the processor meanwhile.
#pragma once

#include <chrono>

#include "perf/endpoint.hpp"
#include "perf/measure.hpp"

namespace iwarp::apps::perf {

class ClientRole {
 public:
  virtual ~ClientRole() = default;
  /// Runs for `duration`; returns when the server has all and has said so.
  virtual Outcome run(std::chrono::milliseconds duration) = 0;
  virtual Usage usage() const = 0;
};

class ServerRole {
 public:
  virtual ~ServerRole() = default;
  /// Serves one phase.
  virtual Usage serve() = 0;
};

/// Streams and rates over RDMA.
std::unique_ptr<ClientRole> make_stream_client(const Plan& plan, Endpoint& endpoint);
/// Ping-pongs over RDMA, and single Reads.
std::unique_ptr<ClientRole> make_latency_client(const Plan& plan, Endpoint& endpoint);
std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, Endpoint& endpoint);
/// The baselines. `link` is the connection for the data.
std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, conform::Link link);
std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, conform::Link link);

}  // namespace iwarp::apps::perf
