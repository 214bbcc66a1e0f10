// SPDX-License-Identifier: Apache-2.0
// The TCP baselines: streams over one connection or several, a ping-pong, and counted streams. In
// all but counted streams the first byte of each message is its kind (Mark), so that the data
// connection itself marks the end of a phase.
#include <sys/epoll.h>

#include <algorithm>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "measure/basics/pattern.hpp"
#include "measure/roles/roles.hpp"
#include "measure/roles/tcp.hpp"

namespace iwarp::apps::measure {

namespace {

class TcpClient final : public TimedClient {
 public:
  TcpClient(const Plan& plan, std::vector<Socket> sockets)
      : plan_(plan),
        end_(plan, std::move(sockets), EPOLLOUT, [this](Clock::time_point now) { look(now); }),
        answer_(plan.size) {}

 private:
  void begin() override {
    send_mark(end_.front(), Mark::kBegin);
    await_answer(end_.front());
    for (auto& lane : end_.lanes()) lane.sent = 0;
  }

  void move(Clock::time_point now, Clock::time_point end) override {
    while (now < end && !finish_requested()) {
      const auto ready = end_.ready();
      for (const auto index : ready) now = send_some(end_.lanes()[index], now);
      if (ready.empty()) now = Clock::now();
      look(now);
    }
    for (auto& lane : end_.lanes()) finish(lane);
    for (auto& lane : end_.lanes()) await_answer(lane);
  }

  Observed observed() const override { return end_.observed(); }

  std::vector<std::uint64_t> counts() const override {
    std::vector<std::uint64_t> out;
    for (const auto& lane : end_.lanes()) out.push_back(lane.sent);
    return out;
  }

  /// Returns the part of the current message that has not been sent.
  bytes::Span rest(TcpLane& lane) const {
    return bytes::Span(lane.buffer).subspan(lane.at, plan_.size - lane.at % plan_.size);
  }

  /// Sends a part of the current message, and waits for the answer if it is complete and the test
  /// has answers. `now` is when the previous call ended. Returns when this one ended.
  Clock::time_point send_some(TcpLane& lane, Clock::time_point now) {
    if (lane.at % plan_.size == 0) {
      const auto message = rest(lane);
      if (plan_.check) fill_pattern(message, lane.index, lane.number);
      message.front() = static_cast<std::byte>(Mark::kData);
      lane.begun = plan_.check ? Clock::now() : now;
    }
    return advance(lane, lane.stream.send_some(rest(lane)));
  }

  Clock::time_point advance(TcpLane& lane, std::size_t sent) {
    if (!pass(lane, sent)) return Clock::now();
    if (plan_.is_latency()) lane.stream.receive(answer_);
    const auto now = Clock::now();
    outcome_.latency.add((now - lane.begun) / (plan_.is_latency() ? 2 : 1));
    if (plan_.check && plan_.is_latency()) check_pattern(answer_, lane.index, lane.number - 1, 1);
    ++lane.sent;
    ++outcome_.messages;
    return now;
  }

  /// Passes over `sent` bytes. Returns whether they were the last ones of a message.
  bool pass(TcpLane& lane, std::size_t sent) const {
    const bool is_last = sent == rest(lane).size();
    lane.at = (lane.at + sent) % lane.buffer.size();
    if (is_last) ++lane.number;
    return is_last;
  }

  // Sends a message that contains nothing but `mark`.
  void send_mark(TcpLane& lane, Mark mark) {
    const auto message = rest(lane);
    message.front() = static_cast<std::byte>(mark);
    lane.stream.send(message);
    pass(lane, message.size());
  }

  // Sends the rest of a message that was begun, and the mark of the end.
  void finish(TcpLane& lane) {
    if (lane.at % plan_.size != 0) {
      const auto left = rest(lane);
      lane.stream.send(left);
      advance(lane, left.size());
    }
    send_mark(lane, Mark::kEnd);
  }

  static void await_answer(TcpLane& lane) {
    std::byte answer{};
    lane.stream.receive({&answer, 1});
  }

  const Plan& plan_;
  TcpEnd end_;
  std::vector<std::byte> answer_;
};

class TcpServer final : public ServerRole {
 public:
  TcpServer(const Plan& plan, std::vector<Socket> sockets)
      : plan_(plan), end_(plan, std::move(sockets), EPOLLIN) {}

  Observed serve(const Phase& /*phase*/) override {
    for (ended_ = 0; ended_ != end_.lanes().size();) {
      for (const auto index : end_.ready()) receive_some(end_.lanes()[index]);
    }
    return usage::difference(after_, before_);
  }

 private:
  // Receives as much as is available, up to the end of the buffer.
  void receive_some(TcpLane& lane) {
    const bytes::Span buffer(lane.buffer);
    for (auto left = lane.stream.receive_some(buffer.subspan(lane.at)); left != 0;) {
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
        if (++ended_ == end_.lanes().size()) after_ = end_.observed();
        break;
      case Mark::kData:
        if (plan_.check) check_pattern(message, lane.index, number, 1);
        if (plan_.is_latency()) lane.stream.send(message);
        return;
      default:
        throw Error("the client sent a message that is neither data nor a begin or end mark");
    }
    lane.stream.send(message.first(1));
  }

  const Plan& plan_;
  TcpEnd end_;
  std::size_t ended_ = 0;  ///< number of lanes whose phase has ended
  Observed before_;
  Observed after_;
};

/// The client of a counted stream. The server answers once at the end of each phase. The client
/// measures the time between the answer that ended the previous phase and the answer that ends this
/// phase.
class CountedTcpClient final : public ClientRole {
 public:
  CountedTcpClient(const Plan& plan, std::vector<Socket> sockets)
      : end_(plan, std::move(sockets), EPOLLOUT) {}

  Outcome run(const Phase& phase, Intervals& /*intervals*/) override {
    const auto start = Clock::now();
    const auto before = end_.observed();
    auto& lane = end_.front();
    for (std::uint64_t i = 0; i < phase.messages; ++i) lane.stream.send(lane.buffer);
    std::byte answer{};
    lane.stream.receive({&answer, 1});
    return counted_outcome(phase, end_.observed(), before, start);
  }

 private:
  TcpEnd end_;
};

class CountedTcpServer final : public ServerRole {
 public:
  CountedTcpServer(const Plan& plan, std::vector<Socket> sockets)
      : size_(plan.size),
        end_(plan, std::move(sockets), EPOLLIN),
        read_(plan.counted.read),
        before_(end_.observed()) {}

  Observed serve(const Phase& phase) override {
    auto& stream = end_.front().stream;
    for (auto left = phase.messages * size_; left != 0;) {
      left -= stream.receive_some(bytes::Span(read_).first(std::min(left, read_.size())));
    }
    const auto after = end_.observed();
    const std::byte answer{1};
    stream.send({&answer, 1});
    return usage::difference(after, std::exchange(before_, after));
  }

 private:
  const std::uint64_t size_;
  TcpEnd end_;
  std::vector<std::byte> read_;
  Observed before_;
};

}  // namespace

std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, std::vector<Socket> sockets) {
  if (plan.is_counted()) return std::make_unique<CountedTcpClient>(plan, std::move(sockets));
  return std::make_unique<TcpClient>(plan, std::move(sockets));
}

std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, std::vector<Socket> sockets) {
  if (plan.is_counted()) return std::make_unique<CountedTcpServer>(plan, std::move(sockets));
  return std::make_unique<TcpServer>(plan, std::move(sockets));
}

}  // namespace iwarp::apps::measure
