// SPDX-License-Identifier: Apache-2.0
// The two roles of a measurement, for either kind of transport: the client drives and times each
// phase, the server serves one. Both count their own use of the processor meanwhile, from when the
// other end is ready to when all has arrived.
#pragma once

#include <chrono>
#include <memory>

#include "measure/basics/histogram.hpp"
#include "measure/basics/intervals.hpp"
#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/endpoint.hpp"

namespace iwarp::apps::measure {

/// What the client saw of one phase.
struct Outcome {
  std::uint64_t messages = 0;  ///< to and fro counts as one
  double seconds = 0;
  Histogram latency;  ///< empty for a counted stream
  Observed used;
  bool confirmed = true;  ///< by the server; false: interrupted while the server was silent
};

/// How much of it.
struct Phase {
  std::chrono::milliseconds duration;
  std::uint64_t messages = 0;  ///< of a counted stream, which looks at no clock
};

class ClientRole {
 public:
  virtual ~ClientRole() = default;
  /// Returns when the server has all and has said so; earlier when a signal has asked to finish
  /// (finish_requested()). Tells `intervals` of what passes.
  virtual Outcome run(const Phase& phase, Intervals& intervals) = 0;
};

class ServerRole {
 public:
  virtual ~ServerRole() = default;
  virtual Observed serve(const Phase& phase) = 0;
};

/// Streams and rates over RDMA.
std::unique_ptr<ClientRole> make_stream_client(const Plan& plan, Endpoint& endpoint);
/// Ping-pongs over RDMA, and single Reads.
std::unique_ptr<ClientRole> make_latency_client(const Plan& plan, Endpoint& endpoint);
/// Counted streams over RDMA.
std::unique_ptr<ClientRole> make_counted_client(const Plan& plan, Endpoint& endpoint);
std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, Endpoint& endpoint);
/// The baselines. `socket` is the connection for the data.
std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, Socket socket);
std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, Socket socket);
std::unique_ptr<ClientRole> make_counted_tcp_client(const Plan& plan, Socket socket);
std::unique_ptr<ServerRole> make_counted_tcp_server(const Plan& plan, Socket socket);

}  // namespace iwarp::apps::measure
