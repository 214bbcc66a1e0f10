// SPDX-License-Identifier: Apache-2.0
// Uses non-blocking sockets and poll(2). A stop signal interrupts each wait.
#include "measure/basics/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "common/base/names.hpp"
#include "common/serving/listen_error.hpp"
#include "iwarp/net/connect_advice.hpp"

namespace iwarp::apps::measure {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Maximum timeout of one call of poll().
constexpr Clock::duration kLongestWait = std::chrono::hours(1);
constexpr int kBacklog = 128;

/// Returns why the peer has gone: it closed the connection, or the connection failed with `error`.
PeerGone peer_gone(int error) {
  if (error == 0 || error == EPIPE || error == ECONNRESET)
    return PeerGone("the peer closed the connection");
  return PeerGone("the connection to the peer failed: " + std::generic_category().message(error));
}

AddressList resolve(const net::Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int status = getaddrinfo(host, std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) throw Error("unknown host \"" + printable(address.host) + "\"");
  return {found, &freeaddrinfo};
}

/// Waits for `events` on the socket. Returns false if the deadline passes before they occur.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::clamp(deadline - Clock::now(), Clock::duration::zero(), kLongestWait);
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(left);
    std::array entries{pollfd{.fd = socket, .events = events, .revents = 0},
                       pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
    const int ready = ::poll(entries.data(), entries.size(), static_cast<int>(time.count()));
    if (ready < 0 && errno != EINTR) throw Error("poll: " + errno_text());
    if (ready > 0 && entries[1].revents != 0) throw Interrupted();
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
  }
}

net::UniqueFd open_socket(int family, const std::string& congestion) {
  net::UniqueFd out(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (out.get() < 0) throw Error("cannot create a socket: " + errno_text());
  const auto size = static_cast<socklen_t>(congestion.size());
  // Set the congestion control before connecting: a connection that has begun to pace would
  // continue to pace.
  if (size != 0 &&
      ::setsockopt(out.get(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(), size) != 0) {
    throw Error("cannot set congestion control \"" + printable(congestion) + "\": " + errno_text());
  }
  return out;
}

}  // namespace

Socket::Socket(net::UniqueFd fd) : fd_(std::move(fd)) {
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket Socket::connect(const net::Address& to, Clock::time_point deadline,
                       const std::string& congestion) {
  int error = EADDRNOTAVAIL;
  for (const auto& address : addresses_of(to)) {
    const auto numeric = resolve(address, AI_NUMERICHOST);
    Socket out(open_socket(numeric->ai_family, congestion));
    error = ::connect(out.fd(), numeric->ai_addr, numeric->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      error = ETIMEDOUT;
      if (wait_for(out.fd(), POLLOUT, deadline)) {
        ::getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
    }
    if (error == 0) return out;
  }
  const std::error_code why(error, std::generic_category());
  throw Error(fmt::format("cannot connect to {}: {}{}", to_string(to), to_text(why),
                          net::connect_advice(why)));
}

void Socket::send(bytes::View octets, Clock::time_point deadline) {
  while (!octets.empty()) {
    const auto n = ::send(fd(), octets.data(), octets.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      octets = octets.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EINTR) {
      await(POLLOUT, deadline);
    } else {
      throw peer_gone(errno);
    }
  }
}

void Socket::await(std::uint32_t events, Clock::time_point deadline) const {
  if (!wait_for(fd(), static_cast<short>(events), deadline)) {
    throw Error("the peer did not answer in time");
  }
}

std::size_t Socket::receive(bytes::Span into, Clock::time_point deadline) {
  for (;;) {
    if (const auto n = receive_now(into); n > 0) return n;
    await(POLLIN, deadline);
  }
}

std::size_t Socket::receive_now(bytes::Span into) {
  const auto n = ::recv(fd(), into.data(), into.size(), 0);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0) throw peer_gone(0);
  if (errno != EAGAIN && errno != EINTR) throw peer_gone(errno);
  return 0;
}

Listener::Listener(const net::Address& at, const std::string& congestion) {
  const auto found = resolve(at, AI_PASSIVE);
  fd_ = open_socket(found->ai_family, congestion);
  const int on = 1;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 bound{};  // or a sockaddr_in, which has its port at the same place
  socklen_t length = sizeof bound;
  if (::bind(fd_.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd_.get(), kBacklog) != 0 ||
      ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    throw cannot_listen(at, std::error_code(errno, std::generic_category()));
  }
  port_ = ntohs(bound.sin6_port);
}

std::optional<Socket> Listener::accept(Clock::time_point deadline) {
  while (wait_for(fd_.get(), POLLIN, deadline)) {
    net::UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() >= 0) return Socket(std::move(fd));
    // Ignore ECONNABORTED: a client may close its connection before it is accepted.
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      throw Error("cannot accept a connection: " + errno_text());
    }
  }
  return std::nullopt;
}

std::string Socket::congestion() const {
  std::array<char, 17> out{};  // room for TCP_CA_NAME_MAX characters and a terminating NUL
  socklen_t size = out.size() - 1;
  if (::getsockopt(fd(), IPPROTO_TCP, TCP_CONGESTION, out.data(), &size) != 0) return "";
  return out.data();
}

}  // namespace iwarp::apps::measure
