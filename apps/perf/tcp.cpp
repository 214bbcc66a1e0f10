// SPDX-License-Identifier: Apache-2.0
// The baselines: a stream and a ping-pong over plain TCP. Messages begin with an octet that says
// what they are (Mark), so that phases need no connection of their own.
#include "perf/tcp.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "common/error.hpp"
#include "common/stop.hpp"
#include "perf/pattern.hpp"
#include "perf/roles.hpp"

namespace iwarp::apps::perf {

namespace {

constexpr unsigned kSpinsBetweenLooks = 4096;

}  // namespace

TcpStream::TcpStream(conform::Link link, Waiting waiting)
    : link_(std::move(link)),
      flags_(MSG_NOSIGNAL | (waiting == Waiting::kPoll ? MSG_DONTWAIT : 0)) {
  const int fd = link_.fd();
  const timeval limit{.tv_sec = kPatience.count(), .tv_usec = 0};
  if (::fcntl(fd, F_SETFL, 0) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    throw Error("cannot set socket options: " + errno_text());
  }
}

// After a call that failed. Returns when it is worth another try.
void TcpStream::not_now(Clock::time_point& since) {
  if (errno == EPIPE || errno == ECONNRESET) throw PeerGone("the peer closed the connection");
  if (errno != EINTR && errno != EAGAIN) throw Error("TCP: " + errno_text());
  const bool blocked = (flags_ & MSG_DONTWAIT) == 0;
  if (errno == EAGAIN && blocked) throw Error("the peer has not answered in time");
  const auto calls = counters_.send_calls + counters_.receive_calls;
  if (!blocked && calls % kSpinsBetweenLooks != 0) return;
  if (stop_requested()) throw Interrupted();
  if (since == Clock::time_point{}) since = Clock::now();
  if (Clock::now() - since > kPatience) throw Error("the peer has not answered in time");
}

void TcpStream::send(bytes::View octets) {
  Clock::time_point since;
  while (!octets.empty()) {
    ++counters_.send_calls;
    const auto n = ::send(link_.fd(), octets.data(), octets.size(), flags_);
    if (n < 0) {
      not_now(since);
      continue;
    }
    counters_.octets_sent += static_cast<std::uint64_t>(n);
    octets = octets.subspan(static_cast<std::size_t>(n));
  }
}

std::size_t TcpStream::receive(bytes::Span into) {
  Clock::time_point since;
  for (;;) {
    ++counters_.receive_calls;
    const auto n = ::recv(link_.fd(), into.data(), into.size(), flags_);
    if (n == 0) throw PeerGone("the peer closed the connection");
    if (n > 0) {
      counters_.octets_received += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
    not_now(since);
  }
}

void TcpStream::receive_all(bytes::Span into) {
  while (!into.empty()) into = into.subspan(receive(into));
}

namespace {

class TcpClient final : public ClientRole {
 public:
  TcpClient(const Plan& plan, conform::Link link)
      : plan_(plan),
        stream_(std::move(link), plan.waiting),
        buffer_(plan.size * plan.depth),
        answer_(plan.size) {}

  Outcome run(std::chrono::milliseconds duration) override {
    Outcome out;
    mark(Mark::kBegin);
    const auto start = Clock::now();
    auto now = start;
    for (; now - start < duration; ++out.messages, ++number_) {
      const auto message =
          bytes::Span(buffer_).subspan((number_ % plan_.depth) * plan_.size, plan_.size);
      if (plan_.check) fill_pattern(message, 0, number_);
      message.front() = static_cast<std::byte>(Mark::kData);
      const auto sent = plan_.check ? Clock::now() : now;
      stream_.send(message);
      if (plan_.is_latency()) stream_.receive_all(answer_);
      now = Clock::now();
      out.latency.add((now - sent) / (plan_.is_latency() ? 2 : 1));
      if (plan_.check && plan_.is_latency()) check_pattern(answer_, 0, number_, 1);
    }
    mark(Mark::kEnd);
    out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return out;
  }

  Usage usage() const override { return usage_now(stream_.counters()); }

 private:
  // A message that is no data; returns when the server has answered with one octet.
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
  TcpServer(const Plan& plan, conform::Link link)
      : plan_(plan), stream_(std::move(link), plan.waiting), buffer_(plan.size * plan.depth) {}

  Usage serve() override {
    for (bool over = false; !over;) {
      // As much as there is, up to the end of the buffer.
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
    return after_ - before_;
  }

 private:
  // A whole message. True: it ends the phase; nothing comes behind it before it was answered.
  bool take(bytes::Span message) {
    const auto mark = static_cast<Mark>(message.front());
    switch (mark) {
      case Mark::kBegin:
        before_ = usage_now(stream_.counters());
        break;
      case Mark::kEnd:
        after_ = usage_now(stream_.counters());
        break;
      case Mark::kData:
        if (plan_.check) check_pattern(message, 0, number_, 1);
        ++number_;
        if (plan_.is_latency()) stream_.send(message);
        return false;
      default:
        throw Error("octets came that are neither data nor a mark");
    }
    stream_.send(message.first(1));
    return mark == Mark::kEnd;
  }

  const Plan& plan_;
  TcpStream stream_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  Usage before_;
  Usage after_;
};

}  // namespace

std::unique_ptr<ClientRole> make_tcp_client(const Plan& plan, conform::Link link) {
  return std::make_unique<TcpClient>(plan, std::move(link));
}

std::unique_ptr<ServerRole> make_tcp_server(const Plan& plan, conform::Link link) {
  return std::make_unique<TcpServer>(plan, std::move(link));
}

}  // namespace iwarp::apps::perf
