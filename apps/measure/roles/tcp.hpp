// SPDX-License-Identifier: Apache-2.0
// TcpStream: the data connection of the baselines, used as an efficient program would use it. It
// sets TCP_NODELAY and makes blocking calls; for Waiting::kPoll, non-blocking calls in a loop; for
// Waiting::kEpoll, calls until EAGAIN, then epoll_wait(). It counts its calls.
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
  /// Uses `socket` for data. If `idle` is not empty, it is called while a call waits.
  TcpStream(Socket socket, Waiting waiting, Idle idle = {});

  /// Sends all bytes. Throws PeerGone, Interrupted, or Error after kTimeout without progress.
  void send(bytes::View octets);
  /// Receives at least one byte and returns the number of bytes.
  std::size_t receive(bytes::Span into);
  void receive_all(bytes::Span into);

  /// Returns the resources used so far, and the counts of calls and bytes.
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
