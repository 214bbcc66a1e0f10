// SPDX-License-Identifier: Apache-2.0
// The TCP baselines: a stream and a ping-pong over plain TCP. The first byte of each message is its
// kind (Mark), so that the data connection itself marks the end of a phase.
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
  TcpClient(const Plan& plan, Socket socket)
      : plan_(plan),
        stream_(std::move(socket), plan.waiting, [this](Clock::time_point now) { look(now); }),
        buffer_(plan.size * plan.depth),
        answer_(plan.size) {}

 private:
  void begin() override { mark(Mark::kBegin); }

  void move(Clock::time_point now, Clock::time_point end) override {
    while (now < end && !finish_requested()) now = send_one(now);
    mark(Mark::kEnd);
  }

  Observed observed() const override { return stream_.observed(); }

  /// Sends one message, and waits for the answer if the test has answers. Returns the time at which
  /// the message was sent or the answer arrived.
  Clock::time_point send_one(Clock::time_point begun) {
    const auto message =
        bytes::Span(buffer_).subspan((number_ % plan_.depth) * plan_.size, plan_.size);
    if (plan_.check) fill_pattern(message, 0, number_);
    message.front() = static_cast<std::byte>(Mark::kData);
    const auto sent = plan_.check ? Clock::now() : begun;
    stream_.send(message);
    if (plan_.is_latency()) stream_.receive_all(answer_);
    const auto now = Clock::now();
    outcome_.latency.add((now - sent) / (plan_.is_latency() ? 2 : 1));
    if (plan_.check && plan_.is_latency()) check_pattern(answer_, 0, number_, 1);
    ++outcome_.messages;
    ++number_;
    look(now);
    return now;
  }

  // Sends a message that contains nothing but `mark`. Returns when the server has answered with one
  // byte.
  void mark(Mark mark) {
    std::ranges::fill(answer_, static_cast<std::byte>(mark));
    stream_.send(answer_);
    stream_.receive_all(bytes::Span(answer_).first(1));
  }

  const Plan& plan_;
  TcpStream stream_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> answer_;
  std::uint64_t number_ = 0;
};

class TcpServer final : public ServerRole {
 public:
  TcpServer(const Plan& plan, Socket socket)
      : plan_(plan), stream_(std::move(socket), plan.waiting), buffer_(plan.size * plan.depth) {}

  Observed serve(const Phase& /*phase*/) override {
    for (bool over = false; !over;) {
      // Receive as much as is available, up to the end of the buffer.
      const auto got = stream_.receive(bytes::Span(buffer_).subspan(at_));
      for (auto left = got; left != 0 && !over;) {
        const auto n = std::min(left, plan_.size - at_ % plan_.size);
        at_ += n;
        left -= n;
        if (at_ % plan_.size == 0) {
          over = take(bytes::Span(buffer_).subspan(at_ - plan_.size, plan_.size));
        }
      }
      if (at_ == buffer_.size()) at_ = 0;
    }
    return usage::difference(after_, before_);
  }

 private:
  // Handles a whole message. Returns true if the message ends the phase: the client then sends no
  // further data before it gets the answer.
  bool take(bytes::Span message) {
    const auto mark = static_cast<Mark>(message.front());
    switch (mark) {
      case Mark::kBegin:
        before_ = stream_.observed();
        break;
      case Mark::kEnd:
        after_ = stream_.observed();
        break;
      case Mark::kData:
        if (plan_.check) check_pattern(message, 0, number_, 1);
        ++number_;
        if (plan_.is_latency()) stream_.send(message);
        return false;
      default:
        throw Error("the client sent a message of an unknown kind");
    }
    stream_.send(message.first(1));
    return mark == Mark::kEnd;
  }

  const Plan& plan_;
  TcpStream stream_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  Observed before_;
  Observed after_;
};

}  // namespace

std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, Socket socket) {
  return std::make_unique<TcpClient>(plan, std::move(socket));
}

std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, Socket socket) {
  return std::make_unique<TcpServer>(plan, std::move(socket));
}

}  // namespace iwarp::apps::measure
