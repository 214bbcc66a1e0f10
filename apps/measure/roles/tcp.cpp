// SPDX-License-Identifier: Apache-2.0
// Makes the calls on the sockets, and waits if a call makes no progress.
#include "measure/roles/tcp.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps::measure {

TcpStream::TcpStream(Socket socket, Waiting waiting, Calls calls, verbs::Counters& counters,
                     Idle idle)
    : socket_(std::move(socket)),
      waiting_(calls == Calls::kCounted ? Waiting::kEpoll : waiting),
      calls_(calls),
      flags_(MSG_NOSIGNAL |
             (waiting_ == Waiting::kEvent && calls == Calls::kWait ? 0 : MSG_DONTWAIT)),
      counters_(&counters),
      idle_(std::move(idle)) {
  const int fd = socket_.fd();
  const auto sleep = idle_ ? kIdleSleep : kSleep;
  const timeval limit{.tv_sec = 0, .tv_usec = std::chrono::microseconds(sleep).count()};
  if (::fcntl(fd, F_SETFL, 0) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    throw Error("cannot set socket options: " + errno_text());
  }
  if (waiting_ == Waiting::kEpoll && calls != Calls::kReturn) epoll_ = std::make_unique<Epoll>(fd);
}

// Handles errno after a failed call. If the caller should retry the call, returns normally.
// Otherwise throws.
void TcpStream::not_now(std::uint32_t events, Clock::time_point& since) {
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
    return (counters_->send_calls + counters_->receive_calls) % kSpinsBetweenLooks == 0;
  }
  if (!epoll_) return true;
  ++counters_->wait_calls;
  // The cost of a timer would be part of what a counted stream measures. Its process has a time
  // limit as a whole.
  const auto sleep = idle_ ? kIdleSleep : kSleep;
  return !epoll_->wait(events, calls_ == Calls::kCounted ? Epoll::kNoLimit : sleep);
}

template <typename Call>
std::size_t TcpStream::some(std::uint32_t events, std::uint64_t& calls, std::uint64_t& octets,
                            Call call) {
  for (Clock::time_point since;;) {
    // Check for stop signals here too, because an end that always makes progress does not call
    // not_now().
    if (stop_requested()) throw Interrupted();
    ++calls;
    const auto n = call();
    if (n > 0) {
      octets += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
    if (n == 0 || errno == EPIPE || errno == ECONNRESET) {
      throw PeerGone("the peer closed the connection");
    }
    if (errno != EINTR && errno != EAGAIN) throw Error("TCP: " + errno_text());
    if (calls_ == Calls::kReturn) return 0;
    not_now(events, since);
  }
}

std::size_t TcpStream::send_some(bytes::View octets) {
  return some(EPOLLOUT, counters_->send_calls, counters_->octets_sent, [&] {
    if (calls_ != Calls::kCounted)
      return ::send(socket_.fd(), octets.data(), octets.size(), flags_);
    // The cast is safe: sendmsg() only reads the data.
    iovec piece{const_cast<std::byte*>(octets.data()), octets.size()};
    const msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
    return ::sendmsg(socket_.fd(), &message, flags_);
  });
}

std::size_t TcpStream::receive_some(bytes::Span into) {
  // Another call after a short read would return EAGAIN.
  Clock::time_point since;
  if (std::exchange(drained_, false)) not_now(EPOLLIN, since);
  const auto n = some(EPOLLIN, counters_->receive_calls, counters_->octets_received, [&] {
    if (calls_ != Calls::kCounted) return ::recv(socket_.fd(), into.data(), into.size(), flags_);
    iovec piece{into.data(), into.size()};
    msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
    return ::recvmsg(socket_.fd(), &message, flags_);
  });
  drained_ = calls_ == Calls::kCounted && n < into.size();
  return n;
}

void TcpStream::send(bytes::View octets) {
  while (!octets.empty()) {
    const auto n = send_some(octets);
    if (n == 0) socket_.await(EPOLLOUT, Clock::now() + kTimeout);
    octets = octets.subspan(n);
  }
}

void TcpStream::receive(bytes::Span into) {
  while (!into.empty()) {
    const auto n = receive_some(into);
    if (n == 0) socket_.await(EPOLLIN, Clock::now() + kTimeout);
    into = into.subspan(n);
  }
}

TcpEnd::TcpEnd(const Plan& plan, std::vector<Socket> sockets, std::uint32_t events,
               const Idle& idle)
    : waiting_(plan.waiting) {
  using enum TcpStream::Calls;
  const auto calls = plan.is_counted() ? kCounted : sockets.size() > 1 ? kReturn : kWait;
  if (calls == kReturn) set_.emplace();
  for (auto& socket : sockets) {
    const auto index = static_cast<std::uint32_t>(lanes_.size());
    if (set_) set_->add(socket.fd(), events, index);
    lanes_.push_back({.stream = {std::move(socket), plan.waiting, calls, counters_, idle},
                      .index = index,
                      .buffer = std::vector<std::byte>(plan.size * plan.places())});
  }
}

std::span<const std::uint32_t> TcpEnd::ready() {
  static constexpr std::uint32_t kFirst = 0;
  if (!set_) return {&kFirst, 1};
  if (stop_requested()) throw Interrupted();
  ++counters_.wait_calls;
  return set_->wait(waiting_ == Waiting::kPoll ? std::chrono::milliseconds(0) : kIdleSleep);
}

Observed TcpEnd::observed() const {
  auto out = usage::used_so_far();
  out.counters = counters_;
  return out;
}

}  // namespace iwarp::apps::measure
