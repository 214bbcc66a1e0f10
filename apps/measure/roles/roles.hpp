// SPDX-License-Identifier: Apache-2.0
// The two roles of a measurement, for either kind of transport: the client drives and times each
// phase, the server serves one. Both count their own processor usage from when the other end is
// ready until everything has arrived.
#pragma once

#include <chrono>
#include <memory>

#include "measure/basics/histogram.hpp"
#include "measure/basics/intervals.hpp"
#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/endpoint.hpp"

namespace iwarp::apps::measure {

/// The client's results of one phase.
struct Outcome {
  std::uint64_t messages = 0;  ///< a round trip counts as one
  double seconds = 0;
  Histogram latency;  ///< empty for a counted stream
  Observed used;
  bool confirmed = true;  ///< false: interrupted while the server was silent
};

/// The extent of a phase.
struct Phase {
  std::chrono::milliseconds duration;
  std::uint64_t messages = 0;  ///< of a counted stream, which has no duration
};

class ClientRole {
 public:
  virtual ~ClientRole() = default;
  /// Runs a phase. Returns when the server has confirmed that everything arrived, or earlier if a
  /// signal asked to finish (finish_requested()). Reports progress to `intervals`.
  virtual Outcome run(const Phase& phase, Intervals& intervals) = 0;
};

class ServerRole {
 public:
  virtual ~ServerRole() = default;
  virtual Observed serve(const Phase& phase) = 0;
};

/// Streams and rates over RDMA.
std::unique_ptr<ClientRole> make_stream_client(const Plan& plan, Endpoint& endpoint);
/// Ping-pongs and single Reads over RDMA.
std::unique_ptr<ClientRole> make_latency_client(const Plan& plan, Endpoint& endpoint);
/// Counted streams over RDMA.
std::unique_ptr<ClientRole> make_counted_client(const Plan& plan, Endpoint& endpoint);
std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, Endpoint& endpoint);
/// The TCP baselines. `socket` is the data connection.
std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, Socket socket);
std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, Socket socket);
std::unique_ptr<ClientRole> make_counted_tcp_client(const Plan& plan, Socket socket);
std::unique_ptr<ServerRole> make_counted_tcp_server(const Plan& plan, Socket socket);

}  // namespace iwarp::apps::measure
