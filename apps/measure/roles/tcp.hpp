// SPDX-License-Identifier: Apache-2.0
// TcpStream, TcpEnd: the data connections of the TCP baselines. They use TCP as an efficient
// program would: one connection sets TCP_NODELAY and makes blocking calls. With Waiting::kPoll, it
// makes non-blocking calls in a loop; with Waiting::kEpoll, it repeats a call until EAGAIN and then
// sleeps in epoll_wait(). Several connections share one thread and one epoll. All calls are
// counted.
#pragma once

#include <memory>
#include <optional>
#include <vector>

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
  /// What a call does if nothing can be moved.
  enum class Calls : std::uint8_t {
    kWait,     ///< waits in the way of the plan
    kReturn,   ///< returns 0, because the caller waits for several streams
    kCounted,  ///< sleeps in epoll_wait() without time limit; makes the calls of this stack
  };
  /// Uses `socket` for data, and counts into `counters`. If `idle` is not empty, it is called while
  /// a call waits.
  TcpStream(Socket socket, Waiting waiting, Calls calls, verbs::Counters& counters, Idle idle = {});

  /// Sends at least one byte, or returns 0 with Calls::kReturn. Throws PeerGone, Interrupted, or
  /// Error after kTimeout without progress.
  std::size_t send_some(bytes::View octets);
  std::size_t receive_some(bytes::Span into);
  /// Sends or receives all bytes, and always waits.
  void send(bytes::View octets);
  void receive(bytes::Span into);

 private:
  template <typename Call>
  std::size_t some(std::uint32_t events, std::uint64_t& calls, std::uint64_t& octets, Call call);
  void not_now(std::uint32_t events, Clock::time_point& since);
  bool has_work(std::uint32_t events);

  Socket socket_;
  Waiting waiting_;
  Calls calls_;
  int flags_;
  std::unique_ptr<Epoll> epoll_;
  bool drained_ = false;  ///< with Calls::kCounted: a short read has emptied the socket
  verbs::Counters* counters_;
  Idle idle_;
};

/// One connection and the messages on it. A mark is a message, too.
struct TcpLane {
  TcpStream stream;
  std::uint64_t index;
  std::vector<std::byte> buffer;  ///< plan.places() messages, which are used in turn
  std::uint64_t number = 0;       ///< number of the current message
  std::size_t at = 0;             ///< offset of the next byte in the buffer
  std::uint64_t sent = 0;         ///< client: data messages that were sent in this phase
  Clock::time_point begun;        ///< client: when the current message was begun
};

/// All connections of one end, and the resources that they have used.
class TcpEnd {
 public:
  /// With several connections, `events` make one ready.
  TcpEnd(const Plan& plan, std::vector<Socket> sockets, std::uint32_t events,
         const Idle& idle = {});

  std::vector<TcpLane>& lanes() { return lanes_; }
  const std::vector<TcpLane>& lanes() const { return lanes_; }
  TcpLane& front() { return lanes_.front(); }
  /// Returns the indices of the lanes to serve next: a lone one, whose calls wait, or those that
  /// are ready. Returns after kIdleSleep at the latest.
  std::span<const std::uint32_t> ready();
  Observed observed() const;

 private:
  const Waiting waiting_;
  verbs::Counters counters_;
  std::optional<EpollSet> set_;  ///< if there are several lanes
  std::vector<TcpLane> lanes_;
};

}  // namespace iwarp::apps::measure
