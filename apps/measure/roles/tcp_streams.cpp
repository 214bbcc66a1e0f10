// SPDX-License-Identifier: Apache-2.0
// The TCP baseline with several connections: one thread per end serves all sockets, with one send
// or receive call of at most a message for each socket that epoll reports. Each socket has the
// buffers that a lane over RDMA has. The first byte of each message is its kind (Mark).
#include <algorithm>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/control.hpp"
#include "measure/basics/epoll.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

struct Stream {
  Socket socket;
  std::uint64_t index;
  std::vector<std::byte> buffer;  ///< `depth` messages, which are used in turn
  std::uint64_t number = 0;       ///< number of the current message; marks are counted as well
  std::size_t at = 0;             ///< offset of the next byte in the current message
  std::uint64_t sent = 0;         ///< client: data messages that were sent in this phase
  Clock::time_point begun;        ///< client: when the current message was begun
};

/// What both ends have: the streams, and the resources that they have used.
class Streams {
 public:
  Streams(const Plan& plan, std::vector<Socket> sockets, std::uint32_t events) : plan_(plan) {
    for (auto& socket : sockets) {
      const auto index = static_cast<std::uint32_t>(streams_.size());
      set_.add(socket.fd(), events, index);
      streams_.push_back({.socket = std::move(socket),
                          .index = index,
                          .buffer = std::vector<std::byte>(plan.size * plan.depth)});
    }
  }

  std::vector<Stream>& all() { return streams_; }
  const std::vector<Stream>& all() const { return streams_; }
  Stream& operator[](std::size_t index) { return streams_[index]; }
  Stream& front() { return streams_.front(); }

  /// Returns the indices of the streams that are ready. Returns after kIdleSleep at the latest.
  std::span<const std::uint32_t> wait() {
    if (stop_requested()) throw Interrupted();
    ++counters_.wait_calls;
    return set_.wait(plan_.waiting == Waiting::kPoll ? std::chrono::milliseconds(0) : kIdleSleep);
  }
  /// Sends a part of the current message. Returns whether its last byte has been sent.
  bool send(Stream& stream) {
    const auto n = stream.socket.send_now(rest_of_message(stream));
    ++counters_.send_calls;
    counters_.octets_sent += n;
    return advance(stream, n);
  }
  /// Receives a part of the current message. Returns whether its last byte has arrived.
  bool receive(Stream& stream) {
    const auto n = stream.socket.receive_now(rest_of_message(stream));
    ++counters_.receive_calls;
    counters_.octets_received += n;
    return advance(stream, n);
  }
  bytes::Span last_message(Stream& stream) const {
    return bytes::Span(stream.buffer).subspan(offset(stream.number - 1), plan_.size);
  }
  bytes::Span message(Stream& stream) const {
    return bytes::Span(stream.buffer).subspan(offset(stream.number), plan_.size);
  }
  Observed observed() const {
    auto out = usage::used_so_far();
    out.counters = counters_;
    return out;
  }

 private:
  std::size_t offset(std::uint64_t number) const { return number % plan_.depth * plan_.size; }
  bytes::Span rest_of_message(Stream& stream) const { return message(stream).subspan(stream.at); }
  bool advance(Stream& stream, std::size_t n) const {
    stream.at += n;
    if (stream.at != plan_.size) return false;
    stream.at = 0;
    ++stream.number;
    return true;
  }

  const Plan& plan_;
  std::vector<Stream> streams_;
  EpollSet set_;
  verbs::Counters counters_;
};

Clock::time_point deadline() { return Clock::now() + kTimeout; }

class TcpStreamsClient final : public TimedClient {
 public:
  TcpStreamsClient(const Plan& plan, std::vector<Socket> sockets)
      : plan_(plan), streams_(plan, std::move(sockets), EPOLLOUT) {}

 private:
  void begin() override {
    send_mark(streams_.front(), Mark::kBegin);
    await_answer(streams_.front());
    for (auto& each : streams_.all()) each.sent = 0;
  }

  void move(Clock::time_point now, Clock::time_point end) override {
    do {
      for (const auto index : streams_.wait()) send_data(streams_[index]);
      now = Clock::now();
      look(now);
    } while (now < end && !finish_requested());
    for (auto& each : streams_.all()) finish(each);
    for (auto& each : streams_.all()) await_answer(each);
  }

  Observed observed() const override { return streams_.observed(); }

  std::vector<std::uint64_t> counts() const override {
    std::vector<std::uint64_t> out;
    for (const auto& each : streams_.all()) out.push_back(each.sent);
    return out;
  }

  void send_data(Stream& stream) {
    if (stream.at == 0) {
      const auto message = streams_.message(stream);
      if (plan_.check) fill_pattern(message, stream.index, stream.number);
      message.front() = static_cast<std::byte>(Mark::kData);
      stream.begun = Clock::now();
    }
    if (streams_.send(stream)) count(stream);
  }

  void count(Stream& stream) {
    ++stream.sent;
    ++outcome_.messages;
    outcome_.latency.add(Clock::now() - stream.begun);
  }

  void send_whole(Stream& stream) {
    while (!streams_.send(stream)) stream.socket.await_room(deadline());
  }

  void send_mark(Stream& stream, Mark mark) {
    streams_.message(stream).front() = static_cast<std::byte>(mark);
    send_whole(stream);
  }

  // Sends the rest of a message that was begun, and the mark of the end.
  void finish(Stream& stream) {
    if (stream.at != 0) {
      send_whole(stream);
      count(stream);
    }
    send_mark(stream, Mark::kEnd);
  }

  static void await_answer(Stream& stream) {
    std::byte answer{};
    stream.socket.receive({&answer, 1}, deadline());
  }

  const Plan& plan_;
  Streams streams_;
};

class TcpStreamsServer final : public ServerRole {
 public:
  TcpStreamsServer(const Plan& plan, std::vector<Socket> sockets)
      : plan_(plan), streams_(plan, std::move(sockets), EPOLLIN) {}

  Observed serve(const Phase& /*phase*/) override {
    for (std::size_t ended = 0; ended != streams_.all().size();) {
      for (const auto index : streams_.wait()) {
        auto& stream = streams_[index];
        if (streams_.receive(stream) && take(stream)) ++ended;
      }
    }
    return usage::difference(streams_.observed(), before_);
  }

 private:
  // Handles a whole message. Returns true if it is the last message of its stream in this phase.
  bool take(Stream& stream) {
    const auto message = streams_.last_message(stream);
    const auto mark = static_cast<Mark>(message.front());
    switch (mark) {
      case Mark::kData:
        if (plan_.check) check_pattern(message, stream.index, stream.number - 1, 1);
        return false;
      case Mark::kBegin:
        before_ = streams_.observed();
        break;
      case Mark::kEnd:
        break;
      default:
        throw Error("the client sent a message that is neither data nor a begin or end mark");
    }
    stream.socket.send(message.first(1), deadline());
    return mark == Mark::kEnd;
  }

  const Plan& plan_;
  Streams streams_;
  Observed before_;
};

}  // namespace

std::unique_ptr<ClientRole> make_tcp_streams_client(const Plan& plan, std::vector<Socket> sockets) {
  return std::make_unique<TcpStreamsClient>(plan, std::move(sockets));
}

std::unique_ptr<ServerRole> make_tcp_streams_server(const Plan& plan, std::vector<Socket> sockets) {
  return std::make_unique<TcpStreamsServer>(plan, std::move(sockets));
}

}  // namespace iwarp::apps::measure
