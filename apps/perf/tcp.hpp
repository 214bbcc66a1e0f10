// SPDX-License-Identifier: Apache-2.0
// TcpStream: the data connection of the baselines, as a careful program would use it: TCP_NODELAY,
// blocking calls or, for Waiting::kPoll, calls that do not block in a loop. Counts its calls.
#pragma once

#include "iwarp/verbs/counters.hpp"
#include "perf/control.hpp"
#include "perf/plan.hpp"

namespace iwarp::apps::perf {

class TcpStream {
 public:
  TcpStream(conform::Link link, Waiting waiting);

  /// All of it. PeerGone, Interrupted, Error: no progress for kPatience.
  void send(bytes::View octets);
  /// At least one octet; returns how many.
  std::size_t receive(bytes::Span into);
  void receive_all(bytes::Span into);

  const verbs::Counters& counters() const { return counters_; }

 private:
  void not_now(Clock::time_point& since);

  conform::Link link_;
  const int flags_;
  verbs::Counters counters_;
};

}  // namespace iwarp::apps::perf
