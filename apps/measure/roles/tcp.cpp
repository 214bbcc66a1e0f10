// SPDX-License-Identifier: Apache-2.0
// The TCP baselines: streams over one connection or several, a ping-pong, and counted streams. They
// use TCP as an efficient program would: one connection sets TCP_NODELAY and makes blocking calls.
// With Waiting::kPoll, it makes non-blocking calls in a loop; with Waiting::kEpoll, it repeats a
// call until EAGAIN and then sleeps in epoll_wait(). Several connections share one thread and one
// epoll. All calls are counted. In all but counted streams the first byte of each message is its
// kind (Mark), so that the data connection itself marks the end of a phase.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

/// One connection and the messages on it. A mark is a message, too.
struct TcpLane {
  Socket socket;
  std::uint64_t index;
  std::vector<std::byte> buffer;  ///< plan.places() messages, which are used in turn
  bool drained = false;           ///< counted stream: a short read has emptied the socket
  std::uint64_t number = 0;       ///< number of the current message
  std::size_t at = 0;             ///< offset of the next byte in the buffer
  Clock::time_point begun;        ///< client: when the current message was begun
};

/// All connections of one end, and the resources that they have used.
class TcpEnd {
 public:
  std::vector<TcpLane> lanes;

  /// With several connections, `events` make one ready. If `idle` is not empty, it is called while
  /// a call waits.
  TcpEnd(const Plan& plan, std::vector<Socket> sockets, std::uint32_t events, Idle idle = {})
      : plan_(plan), is_lone_(sockets.size() == 1), idle_(std::move(idle)) {
    const timeval limit{.tv_sec = 0, .tv_usec = std::chrono::microseconds(sleep()).count()};
    for (auto& socket : sockets) {
      const int fd = socket.fd();
      if (::fcntl(fd, F_SETFL, 0) != 0 ||
          ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
          ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
        throw Error("cannot set socket options: " + errno_text());
      }
      const auto index = static_cast<std::uint32_t>(lanes.size());
      if (!is_lone_ && index < plan.carriers()) set_.watch(fd, events, index);
      lanes.push_back({.socket = std::move(socket),
                       .index = index,
                       .buffer = std::vector<std::byte>(plan.size * plan.places())});
    }
  }

  /// Returns the indices of the lanes to serve next: a lone one, whose calls wait, or those that
  /// are ready. Returns after kIdleSleep at the latest.
  std::span<const std::uint32_t> ready() {
    static constexpr std::uint32_t kFirst = 0;
    if (is_lone_) return {&kFirst, 1};
    if (stop_requested()) throw Interrupted();
    ++counters_.wait_calls;
    return set_.wait(plan_.waiting == Waiting::kPoll ? std::chrono::milliseconds(0) : kIdleSleep);
  }

  Observed observed() const { return usage::used_so_far(counters_); }

  /// Sends (a View) or receives (a Span) at least one byte. A lone connection waits for that in the
  /// way of the plan; another returns 0 if it cannot do so now. Throws PeerGone, Interrupted, or
  /// Error after kTimeout without progress.
  template <typename Octets>
  std::size_t some(TcpLane& lane, Octets octets) {
    constexpr bool kSends = std::same_as<Octets, bytes::View>;
    Clock::time_point since;
    // Another call after a short read would return EAGAIN.
    if (!kSends && std::exchange(lane.drained, false)) not_now(lane, EPOLLIN, since);
    for (;;) {
      // Check for stop signals here too, because an end that always makes progress does not call
      // not_now().
      if (stop_requested()) throw Interrupted();
      ++(kSends ? counters_.send_calls : counters_.receive_calls);
      const auto n = call(lane.socket.fd(), octets);
      if (n > 0) {
        const auto moved = static_cast<std::size_t>(n);
        (kSends ? counters_.octets_sent : counters_.octets_received) += moved;
        if (!kSends) lane.drained = plan_.is_counted() && moved < octets.size();
        return moved;
      }
      if (n == 0 || errno == EPIPE || errno == ECONNRESET) {
        throw PeerGone("the peer closed the connection");
      }
      if (errno != EINTR && errno != EAGAIN) throw Error("TCP: " + errno_text());
      if (!is_lone_) return 0;
      not_now(lane, kSends ? EPOLLOUT : EPOLLIN, since);
    }
  }

  /// Sends or receives all bytes, and always waits.
  template <typename Octets>
  void all(TcpLane& lane, Octets octets) {
    constexpr auto kEvents = std::same_as<Octets, bytes::View> ? EPOLLOUT : EPOLLIN;
    while (!octets.empty()) {
      const auto n = some(lane, octets);
      if (n == 0) lane.socket.await(kEvents, Clock::now() + kTimeout);
      octets = octets.subspan(n);
    }
  }

 private:
  std::chrono::milliseconds sleep() const { return idle_ ? kIdleSleep : kSleep; }

  ssize_t call(int fd, bytes::View octets) const {
    if (!plan_.is_counted()) return ::send(fd, octets.data(), octets.size(), flags_);
    // The cast is safe: sendmsg() only reads the data.
    iovec piece{const_cast<std::byte*>(octets.data()), octets.size()};
    const msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
    return ::sendmsg(fd, &message, flags_);
  }

  ssize_t call(int fd, bytes::Span into) const {
    if (!plan_.is_counted()) return ::recv(fd, into.data(), into.size(), flags_);
    iovec piece{into.data(), into.size()};
    msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
    return ::recvmsg(fd, &message, flags_);
  }

  // Waits, in the way of the plan, before a call is repeated that made no progress. Checks the
  // clock and stop signals from time to time. `since` is the time of the first check.
  void not_now(TcpLane& lane, std::uint32_t events, Clock::time_point& since) {
    if (plan_.is_counted() || plan_.waiting == Waiting::kEpoll) {
      // The cost of a timer would be part of what a counted stream measures. Its process has a time
      // limit as a whole.
      ++counters_.wait_calls;
      if (std::exchange(watched_, events) != events) set_.watch(lane.socket.fd(), events);
      if (!set_.wait(plan_.is_counted() ? Epoll::kNoLimit : sleep()).empty()) return;
    } else if (plan_.waiting == Waiting::kPoll &&
               (counters_.send_calls + counters_.receive_calls) % kSpinsBetweenLooks != 0) {
      return;
    }
    const auto now = Clock::now();
    check_stop(now);
    if (idle_) idle_(now);
    if (since == Clock::time_point{}) since = now;
    if (now - since > kTimeout) throw Error("the peer did not answer in time");
  }

  const Plan& plan_;
  const bool is_lone_;  ///< one connection: its calls wait
  const Idle idle_;
  const int flags_ =
      MSG_NOSIGNAL |
      (plan_.waiting == Waiting::kEvent && is_lone_ && !plan_.is_counted() ? 0 : MSG_DONTWAIT);
  verbs::Counters counters_;
  Epoll set_;                  ///< of several lanes, or of a lone one that sleeps in epoll_wait()
  std::uint32_t watched_ = 0;  ///< events for which a lone one waits
};

std::vector<Socket> connect(const Plan& plan, const std::string& host, Control& control) {
  const net::Address to{.host = host, .port = control.receive_port()};
  const auto deadline = Clock::now() + kConnectPatience;
  std::vector<Socket> out;
  while (out.size() < plan.qps) {
    out.push_back(Socket::connect(to, deadline, plan.connection.congestion));
  }
  return out;
}

std::vector<Socket> accept(const Plan& plan, const std::string& host, Control& control) {
  Listener listener({.host = host, .port = 0}, plan.connection.congestion);
  control.send({{"port", listener.port()}});
  const auto deadline = Clock::now() + kConnectPatience;
  std::vector<Socket> out;
  while (out.size() < plan.qps) {
    auto socket = listener.accept(deadline);
    if (!socket) throw Error("no data connection arrived in time");
    out.push_back(std::move(*socket));
  }
  return out;
}

class TcpClient final : public ClientRole {
 public:
  TcpClient(const Plan& plan, std::vector<Socket> sockets)
      : ClientRole(plan),
        end_(plan, std::move(sockets), EPOLLOUT, [this](Clock::time_point now) { look(now); }),
        answer_(plan.is_latency() ? plan.size : 1) {}

  std::string congestion() const override { return end_.lanes.front().socket.congestion(); }

 private:
  void begin() override {
    if (plan_.is_counted()) return;
    send_mark(end_.lanes.front(), Mark::kBegin);
    await_answer(end_.lanes.front());
  }

  void move(const Phase& phase, Clock::time_point now) override {
    const auto end = now + phase.duration;
    while (!plan_.is_counted() && now < end && !finish_requested()) {
      const auto ready = end_.ready();
      for (const auto index : ready) now = send_some(end_.lanes[index], now);
      if (ready.empty()) now = Clock::now();
      look(now);
    }
    for (auto& lane : end_.lanes) plan_.is_counted() ? send_counted(lane, phase) : finish(lane);
    for (auto& lane : end_.lanes) await_answer(lane);
  }

  Observed observed() const override { return end_.observed(); }

  /// Sends a counted stream, for which the server answers once, at the end.
  void send_counted(TcpLane& lane, const Phase& phase) {
    for (std::uint64_t i = 0; i < phase.messages; ++i) end_.all(lane, bytes::View(lane.buffer));
    counts_.front() = phase.messages;
  }

  /// Returns the part of the current message that has not been sent.
  bytes::Span rest(TcpLane& lane) const {
    return bytes::Span(lane.buffer).subspan(lane.at, plan_.size - lane.at % plan_.size);
  }

  /// Sends a part of the current message, and waits for the answer if it is complete and the test
  /// has answers. `now` is when the previous call ended. Returns when this one ended.
  Clock::time_point send_some(TcpLane& lane, Clock::time_point now) {
    const auto left = rest(lane);
    if (left.size() == plan_.size) {
      if (plan_.check) fill_pattern(left, lane.index, lane.number);
      left.front() = static_cast<std::byte>(Mark::kData);
      lane.begun = plan_.check ? Clock::now() : now;
    }
    const auto sent = end_.some(lane, bytes::View(left));
    if (sent != left.size()) {
      lane.at += sent;
      return Clock::now();
    }
    pass(lane, sent);
    if (plan_.is_latency()) end_.all(lane, bytes::Span(answer_));
    now = Clock::now();
    outcome_.latency.add((now - lane.begun) / (plan_.is_latency() ? 2 : 1));
    if (plan_.check && plan_.is_latency()) check_pattern(answer_, lane.index, lane.number - 1, 1);
    ++counts_[lane.index];
    return now;
  }

  static void pass(TcpLane& lane, std::size_t sent) {
    lane.at = (lane.at + sent) % lane.buffer.size();
    ++lane.number;
  }

  // Sends a message that contains nothing but `mark`.
  void send_mark(TcpLane& lane, Mark mark) {
    const auto message = rest(lane);
    message.front() = static_cast<std::byte>(mark);
    end_.all(lane, bytes::View(message));
    pass(lane, message.size());
  }

  // Sends the rest of a message that was begun, and the mark of the end.
  void finish(TcpLane& lane) {
    while (lane.at % plan_.size != 0) {
      lane.socket.await(EPOLLOUT, Clock::now() + kTimeout);
      send_some(lane, {});
    }
    send_mark(lane, Mark::kEnd);
  }

  void await_answer(TcpLane& lane) { end_.all(lane, bytes::Span(answer_).first(1)); }

  TcpEnd end_;
  std::vector<std::byte> answer_;
};

class TcpServer final : public ServerRole {
 public:
  TcpServer(const Plan& plan, std::vector<Socket> sockets)
      : ServerRole(plan), end_(plan, std::move(sockets), EPOLLIN), read_(plan.counted.read) {
    before_ = end_.observed();
  }

 private:
  void move(const Phase& phase) override {
    if (plan_.is_counted()) return receive_counted(end_.lanes.front(), phase.messages * plan_.size);
    for (ended_ = 0; ended_ != end_.lanes.size();) {
      for (const auto index : end_.ready()) receive_some(end_.lanes[index]);
    }
  }

  void receive_counted(TcpLane& lane, std::uint64_t octets) {
    while (octets != 0) {
      octets -= end_.some(lane, bytes::Span(read_).first(std::min(octets, read_.size())));
    }
    after_ = end_.observed();
    const std::byte answer{1};
    end_.all(lane, bytes::View(&answer, 1));
  }

  // Receives as much as is available, up to the end of the buffer.
  void receive_some(TcpLane& lane) {
    const bytes::Span buffer(lane.buffer);
    for (auto left = end_.some(lane, buffer.subspan(lane.at)); left != 0;) {
      const auto n = std::min(left, plan_.size - lane.at % plan_.size);
      lane.at += n;
      left -= n;
      if (lane.at % plan_.size == 0) take(lane, buffer.subspan(lane.at - plan_.size, plan_.size));
    }
    if (lane.at == buffer.size()) lane.at = 0;
  }

  // Handles a whole message. After a mark the client sends nothing before it has the answer.
  void take(TcpLane& lane, bytes::Span message) {
    const auto number = lane.number++;
    switch (static_cast<Mark>(message.front())) {
      case Mark::kBegin:
        before_ = end_.observed();
        break;
      case Mark::kEnd:
        if (++ended_ == end_.lanes.size()) after_ = end_.observed();
        break;
      case Mark::kData:
        if (plan_.check) check_pattern(message, lane.index, number, 1);
        if (plan_.is_latency()) end_.all(lane, bytes::View(message));
        return;
      default:
        throw Error(
            "the client sent an unknown message (do both ends run the same version of iwarp?)");
    }
    end_.all(lane, bytes::View(message.first(1)));
  }

  TcpEnd end_;
  std::vector<std::byte> read_;  ///< counted stream: what a call receives
  std::size_t ended_ = 0;        ///< number of lanes whose phase has ended
};

}  // namespace

std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, const std::string& host,
                                            Control& control) {
  return std::make_unique<TcpClient>(plan, connect(plan, host, control));
}

std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, const std::string& host,
                                            Control& control) {
  return std::make_unique<TcpServer>(plan, accept(plan, host, control));
}

}  // namespace iwarp::apps::measure
