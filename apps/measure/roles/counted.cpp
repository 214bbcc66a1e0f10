// SPDX-License-Identifier: Apache-2.0
// Counted streams: a fixed number of messages is sent from one buffer and received into one buffer.
// The ends read neither the clock nor the payload in between. The TCP baseline uses non-blocking
// sockets and epoll, as servers do, and makes the same system calls as the stack.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "common/base/error.hpp"
#include "measure/basics/epoll.hpp"
#include "measure/roles/roles.hpp"

namespace iwarp::apps::measure {

namespace {

/// A connected socket that counts its system calls.
class EpollStream {
 public:
  EpollStream(Socket socket, std::size_t read)
      : socket_(std::move(socket)), epoll_(socket_.fd()), buffer_(read) {}

  void send(bytes::View octets) {
    while (!octets.empty()) {
      ++count_.send_calls;
      // The cast is safe: sendmsg() only reads the data.
      iovec piece{const_cast<std::byte*>(octets.data()), octets.size()};
      const msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
      const auto n = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        count_.octets_sent += static_cast<std::uint64_t>(n);
        octets = octets.subspan(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        wait(EPOLLOUT);
      } else if (errno != EINTR) {
        throw PeerGone("send: " + errno_text());
      }
    }
  }

  /// Receives exactly `octets` bytes, in any number of calls.
  void receive(std::uint64_t octets) {
    while (octets > 0) {
      ++count_.receive_calls;
      const auto want = std::min<std::uint64_t>(octets, buffer_.size());
      iovec piece{buffer_.data(), want};
      msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
      const auto n = ::recvmsg(socket_.fd(), &message, MSG_DONTWAIT);
      if (n == 0) throw PeerGone("the peer closed the connection");
      if (n < 0 && errno == EAGAIN) {
        wait(EPOLLIN);
      } else if (n < 0 && errno != EINTR) {
        throw PeerGone("recv: " + errno_text());
      } else if (n > 0) {
        count_.octets_received += static_cast<std::uint64_t>(n);
        octets -= static_cast<std::uint64_t>(n);
        // A short read has emptied the socket. Wait immediately, because another call would return
        // EAGAIN.
        if (static_cast<std::uint64_t>(n) < want) wait(EPOLLIN);
      }
    }
  }

  Observed observed() const {
    auto out = usage::used_so_far();
    out.counters = count_;
    return out;
  }

 private:
  // Wait without a time limit, because the cost of its timer would be part of the measurement. The
  // process as a whole has a time limit.
  void wait(std::uint32_t events) {
    ++count_.wait_calls;
    epoll_.wait(events, Epoll::kNoLimit);
  }

  const Socket socket_;
  Epoll epoll_;
  verbs::Counters count_;
  std::vector<std::byte> buffer_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The client of a counted stream over TCP. The server answers once at the end of each phase. The
/// client measures the time between the answer that ended the previous phase and the answer that
/// ends this phase.
class CountedTcpClient final : public ClientRole {
 public:
  CountedTcpClient(const Plan& plan, Socket socket)
      : stream_(std::move(socket), plan.counted.read), message_(plan.size, std::byte{0x5A}) {}

  Outcome run(const Phase& phase, Intervals& /*intervals*/) override {
    const auto start = Clock::now();
    const auto before = stream_.observed();
    for (std::uint64_t i = 0; i < phase.messages; ++i) stream_.send(message_);
    stream_.receive(1);
    Outcome out;
    out.messages = phase.messages;
    out.used = usage::difference(stream_.observed(), before);
    out.seconds = seconds_since(start);
    return out;
  }

 private:
  EpollStream stream_;
  const std::vector<std::byte> message_;
};

class CountedTcpServer final : public ServerRole {
 public:
  CountedTcpServer(const Plan& plan, Socket socket)
      : stream_(std::move(socket), plan.counted.read),
        size_(plan.size),
        before_(stream_.observed()) {}

  Observed serve(const Phase& phase) override {
    const std::byte answer{1};
    stream_.receive(phase.messages * size_);
    const auto after = stream_.observed();
    stream_.send({&answer, 1});
    return usage::difference(after, std::exchange(before_, after));
  }

 private:
  EpollStream stream_;
  const std::uint64_t size_;
  Observed before_;
};

/// The client of a counted stream over RDMA. It keeps as many Writes in flight as the depth allows.
class CountedClient final : public ClientRole {
 public:
  CountedClient(const Plan& plan, Endpoint& endpoint)
      : plan_(plan), endpoint_(endpoint), lane_(endpoint.lanes().front()) {}

  Outcome run(const Phase& phase, Intervals& /*intervals*/) override {
    endpoint_.send_signal(lane_, {.mark = Mark::kBegin});
    await_reply();
    const auto start = Clock::now();
    const auto before = endpoint_.observed();
    write_all(phase.messages);
    endpoint_.send_signal(lane_, {.mark = Mark::kEnd, .count = phase.messages});
    await_reply();
    Outcome out;
    out.messages = phase.messages;
    out.used = usage::difference(endpoint_.observed(), before);
    out.seconds = seconds_since(start);
    return out;
  }

 private:
  void write_all(std::uint64_t messages) {
    const auto end = lane_.posted + messages;
    while (lane_.done < end) {
      while (lane_.posted < end && lane_.posted - lane_.done < plan_.depth) {
        endpoint_.post(lane_, 1, true);
      }
      const auto wc = endpoint_.wait();
      if (wc.opcode == verbs::WcOpcode::kWrite) lane_.done += Endpoint::count(wc);
    }
  }

  void await_reply() {
    for (;;) {
      const auto wc = endpoint_.wait();
      if (wc.opcode != verbs::WcOpcode::kRecv) continue;
      endpoint_.repost(wc);
      return;
    }
  }

  const Plan& plan_;
  Endpoint& endpoint_;
  Lane& lane_;
};

}  // namespace

std::unique_ptr<ClientRole> make_counted_client(const Plan& plan, Endpoint& endpoint) {
  return std::make_unique<CountedClient>(plan, endpoint);
}

std::unique_ptr<ClientRole> make_counted_tcp_client(const Plan& plan, Socket socket) {
  return std::make_unique<CountedTcpClient>(plan, std::move(socket));
}

std::unique_ptr<ServerRole> make_counted_tcp_server(const Plan& plan, Socket socket) {
  return std::make_unique<CountedTcpServer>(plan, std::move(socket));
}

}  // namespace iwarp::apps::measure
