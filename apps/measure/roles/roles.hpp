// SPDX-License-Identifier: Apache-2.0
// The two roles of a measurement, for RDMA and for TCP. The client drives each phase and measures
// its time; the server serves the phase. Each end counts its own processor usage. The count begins
// when the other end is ready, and ends when all messages have arrived.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "measure/basics/histogram.hpp"
#include "measure/basics/intervals.hpp"
#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "measure/roles/endpoint.hpp"

namespace iwarp::apps::measure {

/// The results of one phase, as the client has measured them.
struct Outcome {
  std::uint64_t messages = 0;  ///< number of messages; a round trip counts as one message
  double seconds = 0;
  Histogram latency;  ///< latencies of the messages; empty for a counted stream
  Observed used;
  /// Of a stream: messages of the connection that moved the fewest, divided by the mean of all
  /// connections; from 0 to 1.
  double slowest_share = 1;
  bool confirmed = true;  ///< false if the phase was interrupted and the server did not respond
};

/// Returns the smallest of `counts`, which is not empty, divided by their mean.
double slowest_share(std::span<const std::uint64_t> counts);

/// The length of a phase: a duration or a number of messages.
struct Phase {
  std::chrono::milliseconds duration;
  std::uint64_t messages = 0;  ///< for a counted stream, which has no duration: number of messages
};

class ClientRole {
 public:
  virtual ~ClientRole() = default;
  /// Runs a phase, and reports its progress to `intervals`. Returns when the server has confirmed
  /// that everything has arrived. Ends the phase early after a stop signal (finish_requested()).
  virtual Outcome run(const Phase& phase, Intervals& intervals) = 0;
};

/// A client whose phases last for a time: has the clock, the intervals and the outcome.
class TimedClient : public ClientRole {
 public:
  Outcome run(const Phase& phase, Intervals& intervals) final;

 protected:
  /// Announces a phase, and returns when the server is ready.
  virtual void begin() = 0;
  /// Moves messages until `end`, or finish_requested(). Returns when the server has confirmed that
  /// all have arrived. `now` is the current time.
  virtual void move(Clock::time_point now, Clock::time_point end) = 0;
  virtual Observed observed() const = 0;
  /// Returns the messages of each connection in this phase, or nothing if there is one connection.
  virtual std::vector<std::uint64_t> counts() const { return {}; }
  /// Reports the current interval if it is over. Call it between two messages.
  void look(Clock::time_point now) {
    if (intervals_->due(now)) intervals_->end_interval(now, outcome_.messages, outcome_.latency);
  }

  Outcome outcome_;

 private:
  Intervals* intervals_ = nullptr;  ///< reports the intervals of the phase that is running
};

class ServerRole {
 public:
  virtual ~ServerRole() = default;
  virtual Observed serve(const Phase& phase) = 0;
};

/// Creates the client of throughput and message rate tests over RDMA.
std::unique_ptr<ClientRole> make_stream_client(const Plan& plan, Endpoint& endpoint);
/// Creates the client of ping-pongs and single Reads over RDMA.
std::unique_ptr<ClientRole> make_latency_client(const Plan& plan, Endpoint& endpoint);
/// Creates the client of counted streams over RDMA.
std::unique_ptr<ClientRole> make_counted_client(const Plan& plan, Endpoint& endpoint);
std::unique_ptr<ServerRole> make_rdma_server(const Plan& plan, Endpoint& endpoint);
/// Create the client and the server of the TCP baselines and of counted streams over TCP.
std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, std::vector<Socket> sockets);
std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, std::vector<Socket> sockets);

/// Returns the outcome of a counted phase that began at `start` and ends now.
Outcome counted_outcome(const Phase& phase, const Observed& after, const Observed& before,
                        Clock::time_point start);

}  // namespace iwarp::apps::measure
