// SPDX-License-Identifier: Apache-2.0
// Sockets of TCP: addresses, the options of listening and connecting sockets, and how to reserve a
// port that another program must not bind. Converts errnos to verbs::Errc.
#include "sockets/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <cstring>

#include "iwarp/net/socket_ops.hpp"
#include "iwarp/verbs/errors.hpp"
#include "sockets/descriptors.hpp"

namespace iwarp::net {
namespace {

int get_option(int fd, int level, int name, int otherwise) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : otherwise;
}

// Returns the events of `wanted`, and the errors, that poll(2) reports within `limit`.
int poll_for(int fd, short wanted, std::chrono::milliseconds limit = {}) {
  pollfd one{.fd = fd, .events = wanted, .revents = 0};
  return ::poll(&one, 1, static_cast<int>(limit.count())) > 0 ? one.revents : 0;
}

// Minimum backlog for listen(2). The Acceptor quickly accepts the connections in that backlog, and
// PendingSetups then decides which of them to keep.
constexpr int kTcpBacklog = 1024;

// Size of the send buffer of a connection between two ends on this host. The delay between them is
// so short that the connection needs no more. The kernel would let the buffer grow to several
// megabytes, which do not fit in the cache. The kernel doubles this value, because half of the
// buffer is for its own data, see SO_SNDBUF in socket(7).
constexpr int kLocalSendBuffer = 512 * 1024;

// Congestion control of a connection between two ends on this host, whose path has no congestion.
// BBR would measure the speed of the receiver instead, and set a timer for each segment. A socket
// that has connected with BBR is paced until it is closed, whatever its congestion control is
// afterwards.
constexpr char kUnpaced[] = "reno";

std::string text(int family, const void* octets) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const char* out = ::inet_ntop(family, octets, buffer.data(), buffer.size());
  return out != nullptr ? out : "";
}

}  // namespace

SocketAddress to_socket_address(const boost::asio::ip::tcp::endpoint& endpoint) {
  SocketAddress out;
  std::memcpy(&out.storage, endpoint.data(), endpoint.size());
  out.length = static_cast<socklen_t>(endpoint.size());
  return out;
}

Address to_address(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.storage, sizeof v4);
    return {.host = text(AF_INET, &v4.sin_addr), .port = ntohs(v4.sin_port)};
  }
  if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address.storage, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      return {.host = text(AF_INET, &v6.sin6_addr.s6_addr[12]), .port = ntohs(v6.sin6_port)};
    }
    return {.host = text(AF_INET6, &v6.sin6_addr), .port = ntohs(v6.sin6_port)};
  }
  return {};
}

Address local_address(int fd) {
  SocketAddress address;
  if (::getsockname(fd, address.get(), &address.length) != 0) return {};
  return to_address(address);
}

Address peer_address(int fd) {
  SocketAddress address;
  if (::getpeername(fd, address.get(), &address.length) != 0) return {};
  return to_address(address);
}

// Tries to bind a UDP socket to the peer's address, which succeeds only if the address belongs to
// this host.
bool is_local(const Address& peer, const Address& own) {
  if (peer.host == own.host) return true;
  boost::system::error_code not_numeric;
  const auto ip = boost::asio::ip::make_address(peer.host, not_numeric);
  if (not_numeric || ip.is_loopback()) return !not_numeric;
  const auto at = to_socket_address({ip, 0});
  const UniqueFd probe(::socket(at.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe && ::bind(probe.get(), at.get(), at.length) == 0;
}

bool set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

std::error_code last_error() { return {errno, std::generic_category()}; }

std::error_code to_errc(const std::error_code& error) {
  if (error.category() == verbs::verbs_category()) return error;
  if (error.category() != std::generic_category() && error.category() != std::system_category()) {
    return make_error_code(verbs::Errc::kAddressInvalid);  // an error of the resolver
  }
  switch (error.value()) {
    case ECONNREFUSED:
      return make_error_code(verbs::Errc::kConnectionRefused);
    case ECONNRESET:
    case EPIPE:
      return make_error_code(verbs::Errc::kConnectionReset);
    case ETIMEDOUT:
      return make_error_code(verbs::Errc::kTimedOut);
    case EADDRINUSE:
      return make_error_code(verbs::Errc::kAddressInUse);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL:
      return make_error_code(verbs::Errc::kAddressInvalid);
    default:
      return make_error_code(verbs::Errc::kSystem);
  }
}

std::expected<UniqueFd, std::error_code> open_tcp_socket(int family) {
  UniqueFd fd(socket_ops().socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return std::unexpected(last_error());
  return fd;
}

// How to reserve a port on Linux. A bind without SO_REUSEADDR succeeds only if no socket has the
// port. If that bind fails, try again with SO_REUSEADDR. The second bind succeeds if all sockets of
// the port have that option too and none of them listens, which is true of former connections.
// Afterwards the option is cleared again, which keeps other sockets from binding the port, because
// at each bind the kernel compares the options of both sockets. A socket that connects from this
// port uses SO_REUSEPORT, which other programs rarely set.
//
// The first bind of a port must not have SO_REUSEADDR: if it had, the kernel would record that the
// port is shared, and would no longer compare the options of its sockets.
namespace {

bool bind_alone(int fd, const SocketAddress& at, Sharing sharing) {
  if (::bind(fd, at.get(), at.length) == 0) return true;
  return errno == EADDRINUSE && sharing == Sharing::kWithFormer &&
         set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) && ::bind(fd, at.get(), at.length) == 0;
}

bool keep_port(int fd) {
  return set_option(fd, SOL_SOCKET, SO_REUSEADDR, 0) && set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

}  // namespace

std::expected<UniqueFd, std::error_code> open_bound(const SocketAddress& at, bool dual_stack,
                                                    Sharing sharing) {
  auto fd = open_tcp_socket(at.storage.ss_family);
  if (!fd) return fd;
  const bool v6 = at.storage.ss_family == AF_INET6;
  if ((v6 && !set_option(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, dual_stack ? 0 : 1)) ||
      (sharing == Sharing::kWithReserved && !set_option(fd->get(), SOL_SOCKET, SO_REUSEPORT, 1)) ||
      !bind_alone(fd->get(), at, sharing) || !keep_port(fd->get())) {
    return std::unexpected(last_error());
  }
  return fd;
}

std::error_code start_listening(int fd, int backlog) {
  // Accepted connections inherit SO_REUSEADDR. So the next listener can bind the port while these
  // connections still use it.
  if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) && set_option(fd, SOL_SOCKET, SO_REUSEPORT, 0) &&
      ::listen(fd, std::max(backlog, kTcpBacklog)) == 0) {
    return {};
  }
  const auto error = last_error();
  keep_port(fd);
  return error;
}

std::error_code bind_to_connect(int fd, const SocketAddress& from) {
  const bool any_port = to_address(from).port == 0;
  // With IP_BIND_ADDRESS_NO_PORT, the kernel chooses the port only when the peer is known. So the
  // kernel can use one port for connections to several peers.
  if (any_port) set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (!any_port && !set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) return last_error();
  if (!bind_alone(fd, from, Sharing::kWithFormer)) return last_error();
  if (!any_port && !set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1)) return last_error();
  return {};
}

std::error_code prepare_connected(int fd, const std::string& congestion,
                                  const std::string& former) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return last_error();
  if (!set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1)) return last_error();
  const bool local = is_local(peer_address(fd), local_address(fd));
  if (local) set_option(fd, SOL_SOCKET, SO_SNDBUF, kLocalSendBuffer);
  if (!congestion.empty()) return set_congestion(fd, congestion);
  // The connection works with any congestion control, so a failure does not matter. The socket has
  // another than reno if the route to the peer names one.
  if (local) {
    (void)set_congestion(fd, kUnpaced);
  } else if (!former.empty() && congestion_of(fd) == kUnpaced) {
    (void)set_congestion(fd, former);
  }
  return {};
}

std::string avoid_pacing(int fd) {
  std::string former = congestion_of(fd);
  return set_congestion(fd, kUnpaced) ? std::string() : former;
}

std::error_code set_congestion(int fd, const std::string& name) {
  if (name.empty()) return {};
  const auto size = static_cast<socklen_t>(name.size());
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0) return {};
  return verbs::make_error_code(verbs::Errc::kInvalidArgument);
}

std::string congestion_of(int fd) {
  std::array<char, 17> name{};  // room for TCP_CA_NAME_MAX characters and a terminating NUL
  socklen_t size = name.size() - 1;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0 ? name.data() : "";
}

bool is_connected_tcp(int fd) {
  return get_option(fd, SOL_SOCKET, SO_TYPE, -1) == SOCK_STREAM &&
         get_option(fd, SOL_SOCKET, SO_PROTOCOL, -1) == IPPROTO_TCP &&
         !peer_address(fd).host.empty();
}

std::size_t effective_mss(int fd) {
  const int mss = get_option(fd, IPPROTO_TCP, TCP_MAXSEG, 0);
  return mss > 0 ? static_cast<std::size_t>(mss) : 0;
}

std::error_code pending_error(int fd) {
  return {get_option(fd, SOL_SOCKET, SO_ERROR, EIO), std::generic_category()};
}

bool writable(int fd) { return poll_for(fd, POLLOUT) != 0; }

bool is_broken(int fd) { return (poll_for(fd, 0) & POLLERR) != 0; }

void await_octets(int fd, std::chrono::milliseconds limit) { poll_for(fd, POLLIN, limit); }

bool is_closed(int fd) { return poll_for(fd, POLLRDHUP) != 0; }

std::chrono::milliseconds silent_for(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  if (info.tcpi_unacked != 0 || info.tcpi_probes != 0) {
    return std::chrono::milliseconds(info.tcpi_last_ack_recv);
  }
  constexpr int kSeconds = 1;
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kSeconds);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  return {};
}

std::size_t missing_descriptors(int newest, std::size_t reserve) {
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return 0;
  const rlim_t open = open_descriptors(newest);
  const rlim_t unreserved = most.rlim_cur - std::min<rlim_t>(reserve, most.rlim_cur / 4);
  return open > unreserved ? open - unreserved : 0;
}

void reset_on_close(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace iwarp::net
