// SPDX-License-Identifier: Apache-2.0
// Calls send() and receive() on the socket, and waits if a call makes no progress.
#include "measure/roles/tcp.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps::measure {

TcpStream::TcpStream(Socket socket, Waiting waiting, Idle idle)
    : socket_(std::move(socket)),
      waiting_(waiting),
      flags_(MSG_NOSIGNAL | (waiting == Waiting::kEvent ? 0 : MSG_DONTWAIT)),
      idle_(std::move(idle)) {
  const int fd = socket_.fd();
  const timeval limit{.tv_sec = 0, .tv_usec = std::chrono::microseconds(longest_sleep()).count()};
  if (::fcntl(fd, F_SETFL, 0) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    throw Error("cannot set socket options: " + errno_text());
  }
  if (waiting == Waiting::kEpoll) epoll_.emplace(fd);
}

// Handles errno after a failed call. If the caller should retry the call, returns normally.
// Otherwise throws.
void TcpStream::not_now(std::uint32_t events, Clock::time_point& since) {
  if (errno == EPIPE || errno == ECONNRESET) throw PeerGone("the peer closed the connection");
  if (errno != EINTR && errno != EAGAIN) throw Error("TCP: " + errno_text());
  if (!has_work(events)) return;
  const auto now = Clock::now();
  check_stop(now);
  if (idle_) idle_(now);
  if (since == Clock::time_point{}) since = now;
  if (now - since > kTimeout) throw Error("the peer did not answer in time");
}

// Returns whether it is time to check the clock and stop signals. With Waiting::kEpoll, sleeps in
// epoll_wait() first.
bool TcpStream::has_work(std::uint32_t events) {
  if (waiting_ == Waiting::kPoll) {
    return (counters_.send_calls + counters_.receive_calls) % kSpinsBetweenLooks == 0;
  }
  if (!epoll_) return true;
  ++counters_.wait_calls;
  return !epoll_->wait(events, longest_sleep());
}

void TcpStream::send(bytes::View octets) {
  Clock::time_point since;
  while (!octets.empty()) {
    ++counters_.send_calls;
    const auto n = ::send(socket_.fd(), octets.data(), octets.size(), flags_);
    if (n < 0) {
      not_now(EPOLLOUT, since);
      continue;
    }
    counters_.octets_sent += static_cast<std::uint64_t>(n);
    octets = octets.subspan(static_cast<std::size_t>(n));
  }
}

std::size_t TcpStream::receive(bytes::Span into) {
  Clock::time_point since;
  for (;;) {
    // Check for stop signals here too, because an end that always finds data to receive does not
    // call not_now().
    if (stop_requested()) throw Interrupted();
    ++counters_.receive_calls;
    const auto n = ::recv(socket_.fd(), into.data(), into.size(), flags_);
    if (n == 0) throw PeerGone("the peer closed the connection");
    if (n > 0) {
      counters_.octets_received += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
    not_now(EPOLLIN, since);
  }
}

void TcpStream::receive_all(bytes::Span into) {
  while (!into.empty()) into = into.subspan(receive(into));
}

Observed TcpStream::observed() const {
  auto out = usage::used_so_far();
  out.counters = counters_;
  return out;
}

}  // namespace iwarp::apps::measure
