// SPDX-License-Identifier: Apache-2.0
// The two roles of a measurement, for RDMA and for TCP. The client drives each phase and measures
// its time; the server serves the phase. Each end counts its own processor usage. The count begins
// when the other end is ready, and ends when all messages have arrived.
#pragma once

#include <chrono>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "measure/basics/histogram.hpp"
#include "measure/basics/intervals.hpp"
#include "measure/roles/endpoint.hpp"

namespace iwarp::apps::measure {

/// The results of one phase, as the client has measured them.
struct Outcome {
  std::uint64_t messages = 0;  ///< number of messages; a round trip counts as one message
  double seconds = 0;
  Histogram latency;  ///< latencies of the messages; empty for a counted stream
  Observed used;      ///< counters of the client, and the segments that its process sent over TCP
  /// Of a stream: messages of the connection that moved the fewest, divided by the mean of all
  /// connections that carry messages; from 0 to 1.
  double slowest_share = 1;
  bool confirmed = true;  ///< false if the phase was interrupted and the server did not respond
};

/// The length of a phase: a duration or a number of messages.
struct Phase {
  std::chrono::milliseconds duration;
  std::uint64_t messages = 0;  ///< for a counted stream, which has no duration: number of messages
};

/// Has the clock, the intervals and the outcome of each phase.
class ClientRole {
 public:
  explicit ClientRole(const Plan& plan) : plan_(plan) {}
  virtual ~ClientRole() = default;
  /// Runs a phase, and reports its progress to `intervals`. Returns when the server has confirmed
  /// that everything has arrived. Ends the phase early after a stop signal (finish_requested()).
  Outcome run(const Phase& phase, Intervals& intervals);
  /// Returns the TCP congestion control of the first data connection.
  virtual std::string congestion() const = 0;
  /// Closes the data connections after their last phase.
  virtual void disconnect() {}

 protected:
  /// Announces a phase, and returns when the server is ready.
  virtual void begin() = 0;
  /// Moves messages until the phase is over, or finish_requested(). Returns when the server has
  /// confirmed that all have arrived. `now` is the current time.
  virtual void move(const Phase& phase, Clock::time_point now) = 0;
  virtual Observed observed() const = 0;
  /// Reports the current interval if it is over. Call it between two messages.
  void look(Clock::time_point now) {
    if (intervals_->due(now)) intervals_->end_interval(now, messages(), outcome_.latency);
  }

  const Plan& plan_;
  Outcome outcome_;
  std::vector<std::uint64_t> counts_;  ///< messages of each connection in this phase

 private:
  std::uint64_t messages() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }

  Intervals* intervals_ = nullptr;  ///< reports the intervals of the phase that is running
};

class ServerRole {
 public:
  explicit ServerRole(const Plan& plan) : plan_(plan) {}
  virtual ~ServerRole() = default;
  /// Serves a phase, and returns what this end has used in it.
  Observed serve(const Phase& phase) {
    move(phase);
    return usage::difference(after_, std::exchange(before_, after_));
  }

 protected:
  /// Serves the messages of a phase, and sets `after_` when all have arrived.
  virtual void move(const Phase& phase) = 0;

  const Plan& plan_;
  Observed before_;  ///< what this end has used when the phase begins
  Observed after_;
};

/// Create the client and the server over RDMA, and those of the TCP baselines. A server listens at
/// `host` and sends the port over `control`; a client connects to that port of `host`.
std::unique_ptr<ClientRole> make_rdma_client(const Plan&, const std::string& host, Control&);
std::unique_ptr<ServerRole> make_rdma_server(const Plan&, const std::string& host, Control&);
std::unique_ptr<ClientRole> make_tcp_client(const Plan&, const std::string& host, Control&);
std::unique_ptr<ServerRole> make_tcp_server(const Plan&, const std::string& host, Control&);

}  // namespace iwarp::apps::measure
