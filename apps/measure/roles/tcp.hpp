// SPDX-License-Identifier: Apache-2.0
// TcpStream: the data connection of the TCP baselines. It uses TCP as an efficient program would:
// it sets TCP_NODELAY and makes blocking calls. With Waiting::kPoll, it makes non-blocking calls in
// a loop; with Waiting::kEpoll, it repeats a call until EAGAIN and then sleeps in epoll_wait(). It
// counts its calls.
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
  /// Uses `socket` for data. If `idle` is not empty, it is called while send() or receive() waits.
  TcpStream(Socket socket, Waiting waiting, Idle idle = {});

  /// Sends all bytes. Throws PeerGone, Interrupted, or Error after kTimeout without progress.
  void send(bytes::View octets);
  /// Receives at least one byte, and returns the number of bytes received.
  std::size_t receive(bytes::Span into);
  void receive_all(bytes::Span into);

  /// Returns the resources used so far, including the numbers of calls and bytes.
  Observed observed() const;

 private:
  void not_now(std::uint32_t events, Clock::time_point& since);
  std::chrono::milliseconds longest_sleep() const { return idle_ ? kIdleSleep : kSleep; }
  bool has_work(std::uint32_t events);

  Socket socket_;
  const Waiting waiting_;
  const int flags_;
  std::optional<Epoll> epoll_;
  const Idle idle_;
  verbs::Counters counters_;
};

}  // namespace iwarp::apps::measure
