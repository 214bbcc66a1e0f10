// SPDX-License-Identifier: Apache-2.0
// TcpStream: the data connection of the baselines, as an efficient program would use it:
// TCP_NODELAY, blocking calls or, for Waiting::kPoll, non-blocking calls in a loop; for
// Waiting::kEpoll, calls until EAGAIN, then epoll_wait(). Counts its calls.
#pragma once

#include <optional>

#include "iwarp/verbs/counters.hpp"
#include "measure/basics/control.hpp"
#include "measure/basics/epoll.hpp"
#include "measure/basics/plan.hpp"
#include "measure/basics/socket.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::measure {

using usage::Observed;

class TcpStream {
 public:
  /// `idle`, if given, is called while a call waits.
  TcpStream(Socket socket, Waiting waiting, Idle idle = {});

  /// Sends all bytes. Throws PeerGone, Interrupted, or Error after kTimeout without progress.
  void send(bytes::View octets);
  /// Receives at least one byte and returns how many.
  std::size_t receive(bytes::Span into);
  void receive_all(bytes::Span into);

  /// Returns the counts so far.
  Observed observed() const;

 private:
  void not_now(std::uint32_t events, Clock::time_point& since);
  std::chrono::milliseconds longest_sleep() const { return idle_ ? kIdleSleep : kSleep; }
  bool worth_a_look(std::uint32_t events);

  Socket socket_;
  const Waiting waiting_;
  const int flags_;
  std::optional<Epoll> epoll_;
  const Idle idle_;
  verbs::Counters counters_;
};

}  // namespace iwarp::apps::measure
