// SPDX-License-Identifier: Apache-2.0
// Implements Link with TCP sockets, and with poll(2) for the deadlines.
#include "conform/script/link.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"
#include "common/base/names.hpp"
#include "common/serving/listen_error.hpp"
#include "iwarp/net/connect_advice.hpp"

namespace iwarp::apps::conform {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const net::Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int status = getaddrinfo(host, std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) throw Error(fmt::format("{}: {}", to_string(address), gai_strerror(status)));
  return {found, &freeaddrinfo};
}

constexpr Clock::duration kLongest = std::chrono::hours(1);  // maximum timeout of poll()

// Waits for `events` on the socket. Returns false if the deadline passes before they occur.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::clamp(deadline - Clock::now(), Clock::duration::zero(), kLongest);
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

int socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

void apply(int socket, const LinkOptions& options) {
  if (options.mss != 0) set_option(socket, IPPROTO_TCP, TCP_MAXSEG, options.mss);
  const auto& congestion = options.congestion;
  const auto size = static_cast<socklen_t>(congestion.size());
  if (size != 0 &&
      ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion.data(), size) != 0) {
    throw Error(fmt::format("cannot set congestion control \"{}\": {}", congestion, errno_text()));
  }
}

}  // namespace

Link::Link(Link&& o) noexcept : socket_(std::exchange(o.socket_, -1)) {}

Link& Link::operator=(Link&& o) noexcept {
  std::swap(socket_, o.socket_);
  return *this;
}

Link::~Link() { close(); }

void Link::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

Link Link::connect(const net::Address& to, Clock::time_point deadline, const LinkOptions& options) {
  std::error_code why(EADDRNOTAVAIL, std::generic_category());
  for (const auto& address : addresses_of(to)) {
    const auto found = resolve(address, AI_NUMERICHOST);
    const addrinfo* const a = found.get();
    Link link(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!link) throw Error("cannot create a socket: " + errno_text());
    set_option(link.socket_, IPPROTO_TCP, TCP_NODELAY, 1);
    apply(link.socket_, options);
    if (::connect(link.socket_, a->ai_addr, a->ai_addrlen) == 0) return link;
    if (errno == EINPROGRESS) {
      if (!wait_for(link.socket_, POLLOUT, deadline)) {
        throw Unreachable(
            fmt::format("cannot connect to {}: no answer within the time limit", to_string(to)),
            net::connect_advice(std::make_error_code(std::errc::timed_out)));
      }
      errno = socket_error(link.socket_);
      if (errno == 0) return link;
    }
    why.assign(errno, std::generic_category());
  }
  throw Unreachable(fmt::format("cannot connect to {}: {}", to_string(to), to_text(why)),
                    net::connect_advice(why));
}

bool Link::send(bytes::View octets, Clock::time_point deadline) {
  while (!octets.empty()) {
    const auto n = ::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      octets = octets.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLOUT, deadline)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::uint32_t Link::advertised_mss() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_advmss;
}

void Link::half_close() { ::shutdown(socket_, SHUT_WR); }

void Link::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

Link::Got Link::receive(bytes::Span into, std::size_t& size, Clock::time_point deadline) {
  for (;;) {
    const auto n = ::recv(socket_, into.data(), into.size(), 0);
    if (n > 0) {
      size = static_cast<std::size_t>(n);
      return Got::kOctets;
    }
    if (n == 0) return Got::kClosed;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Got::kReset;
    if (!wait_for(socket_, POLLIN, deadline)) return Got::kNothing;
  }
}

Acceptor::Acceptor(const net::Address& at) {
  const auto found = resolve(at, AI_PASSIVE);
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) throw Error("cannot create a socket: " + errno_text());
  set_option(socket_, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  auto* name = reinterpret_cast<sockaddr*>(&bound);
  if (::bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, name, &length) != 0) {
    const std::error_code why(errno, std::generic_category());
    ::close(socket_);
    throw cannot_listen(at, why);
  }
  const bool v6 = bound.ss_family == AF_INET6;
  port_ = ntohs(v6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

Acceptor::~Acceptor() { ::close(socket_); }

void Acceptor::prepare(const LinkOptions& options) { apply(socket_, options); }

void Acceptor::turn_away() {
  for (;;) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    ::close(socket);
  }
}

Link Acceptor::accept(Clock::time_point deadline) {
  while (wait_for(socket_, POLLIN, deadline)) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
      return Link(socket);
    }
  }
  return {};
}

}  // namespace iwarp::apps::conform
