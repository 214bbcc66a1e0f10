// SPDX-License-Identifier: Apache-2.0
// Mode (a): plain non-blocking TCP sockets, waited for with epoll as servers do. The calls are
// those that the stack uses too.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/error.hpp"
#include "cost/measure.hpp"

namespace iwarp::apps::cost {

namespace {

/// A connected socket, and what was done with it.
class Stream {
 public:
  Stream(int fd, std::size_t read) : fd_(fd), epoll_(epoll_create1(EPOLL_CLOEXEC)), buffer_(read) {
    if (fd < 0 || epoll_ < 0) throw Error("socket: " + errno_text());
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event);
  }
  ~Stream() {
    ::close(epoll_);
    ::close(fd_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void send(std::span<const std::byte> octets) {
    while (!octets.empty()) {
      ++count_.send_calls;
      // sendmsg() only reads through the pointer.
      iovec piece{const_cast<std::byte*>(octets.data()), octets.size()};
      const msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
      const auto n = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        count_.octets_sent += static_cast<std::uint64_t>(n);
        octets = octets.subspan(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        wait(EPOLLOUT);
      } else if (errno != EINTR) {
        throw Error("send: " + errno_text());
      }
    }
  }

  /// Takes exactly `octets`, in pieces of any size.
  void receive(std::uint64_t octets) {
    while (octets > 0) {
      ++count_.receive_calls;
      const auto want = std::min<std::uint64_t>(octets, buffer_.size());
      iovec piece{buffer_.data(), want};
      msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
      const auto n = ::recvmsg(fd_, &message, MSG_DONTWAIT);
      if (n == 0) throw Error("the other end has closed");
      if (n < 0 && errno == EAGAIN) {
        wait(EPOLLIN);
      } else if (n < 0 && errno != EINTR) {
        throw Error("recv: " + errno_text());
      } else if (n > 0) {
        count_.octets_received += static_cast<std::uint64_t>(n);
        octets -= static_cast<std::uint64_t>(n);
        // The socket was emptied: no need to be told so.
        if (static_cast<std::uint64_t>(n) < want) wait(EPOLLIN);
      }
    }
  }

  Observed observed() const {
    auto out = used_so_far();
    out.counters = count_;
    return out;
  }

 private:
  void wait(std::uint32_t events) {
    if (events != watched_) {
      epoll_event event{.events = events, .data = {}};
      epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
      watched_ = events;
    }
    epoll_event event{};
    ++count_.wait_calls;
    epoll_wait(epoll_, &event, 1, -1);
  }

  const int fd_;
  const int epoll_;
  std::uint32_t watched_ = EPOLLIN;
  verbs::Counters count_;
  std::vector<std::byte> buffer_;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

/// Before it connects: what has once begun to pace goes on with it. A listener hands it on.
int open_socket() {
  const auto fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCongestion, std::strlen(kCongestion)) != 0) {
    throw Error(std::string("congestion control ") + kCongestion + ": " + errno_text());
  }
  return fd;
}

int accept_one(const Peer& peer) {
  const auto fd = open_socket();
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 1) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw Error("listen: " + errno_text());
  }
  peer.say(std::to_string(ntohs(address.sin_port)));
  const auto connection = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  ::close(fd);
  return connection;
}

int connect_to(const std::string& port) {
  if (port.empty()) throw Error("the receiver has gone");
  const auto fd = open_socket();
  auto address = loopback(static_cast<std::uint16_t>(std::stoi(port)));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw Error("connect: " + errno_text());
  }
  return fd;
}

}  // namespace

Observed send_by_sockets(const Job& job, const Peer& peer, double& seconds) {
  Stream stream(connect_to(peer.hear()), job.read);
  const std::vector<std::byte> message(job.size, std::byte{0x5A});
  const auto send_all = [&](std::uint64_t messages) {
    for (std::uint64_t i = 0; i < messages; ++i) stream.send(message);
    stream.receive(1);
  };
  send_all(warm_up(job));
  const auto start = std::chrono::steady_clock::now();
  const auto before = stream.observed();
  send_all(job.messages);
  const auto after = stream.observed();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return difference(after, before);
}

Observed receive_by_sockets(const Job& job, const Peer& peer) {
  Stream stream(accept_one(peer), job.read);
  const std::byte answer{1};
  stream.receive(warm_up(job) * job.size);
  const auto before = stream.observed();
  stream.send({&answer, 1});
  stream.receive(job.messages * job.size);
  const auto after = stream.observed();
  stream.send({&answer, 1});
  return difference(after, before);
}

}  // namespace iwarp::apps::cost
