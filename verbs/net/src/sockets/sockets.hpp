// SPDX-License-Identifier: Apache-2.0
// TCP sockets: making them, their options, their addresses. No protocol, no waiting.
#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <system_error>

#include "iwarp/net/address.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// A sockaddr of any family with its length.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};
SocketAddress to_socket_address(const boost::asio::ip::tcp::endpoint& endpoint);

/// Numeric host and port. IPv4 addresses mapped into IPv6 are shown as IPv4.
Address to_address(const SocketAddress& address);
Address local_address(int fd);
Address peer_address(int fd);
/// True if `peer`, connected to `own`, has an address of this host. May ask the kernel.
bool is_local(const Address& peer, const Address& own);

std::error_code last_error();
/// Returns the verbs code for an error of the operating system or of the resolver.
std::error_code to_errc(const std::error_code& error);
/// Non-blocking and close-on-exec.
std::expected<UniqueFd, std::error_code> open_tcp_socket(int family);
/// With whom a port may be shared.
enum class Sharing : std::uint8_t {
  kNever,
  kWithFormer,  ///< with connections, in TIME_WAIT or open, whose listener has gone
};
/// A socket that keeps its port for itself, see BoundSocket. `dual_stack`: IPv6 that takes IPv4
/// too.
std::expected<UniqueFd, std::error_code> open_bound(const SocketAddress& at, bool dual_stack,
                                                    Sharing sharing);
/// For a socket of open_bound(), which stays as it was when this fails.
std::error_code start_listening(int fd, int backlog);
/// For a socket that will connect, also from a port that a socket of open_bound() keeps.
std::error_code bind_to_connect(int fd, const SocketAddress& from);
/// For connected sockets: non-blocking, TCP_NODELAY.
std::error_code prepare_connected(int fd);
/// Also for what a listener accepts from then on. An empty name changes nothing.
std::error_code set_congestion(int fd, const std::string& name);
/// A connected stream socket of TCP?
bool is_connected_tcp(int fd);
/// TCP_MAXSEG; 0: the kernel does not say.
std::size_t effective_mss(int fd);
/// SO_ERROR: how a connect ended.
std::error_code pending_error(int fd);
/// Has the socket buffer room worth a send, as poll(2) sees it? Does not wait.
bool writable(int fd);
/// The peer has reset it, or TCP given up; what came before may still lie there.
bool is_broken(int fd);
/// Returns when there are octets or a FIN to read, or after `limit`.
void await_octets(int fd, std::chrono::milliseconds limit);
/// The peer has closed it, or it is reset; what came before may not be read yet.
bool is_closed(int fd);
/// How long ago the peer's TCP has shown that it is there. Where it owes no acknowledgement it is
/// asked for one each second from now on, and the connection fails when none comes.
std::chrono::milliseconds silent_for(int fd);
/// One of the last `reserve` numbers that the process may use, or of the last quarter if that is
/// less. The kernel gives out the lowest free number, so there are not many more to be had.
bool is_reserved(int fd, std::size_t reserve);
/// Makes the coming close a reset.
void reset_on_close(int fd);

}  // namespace iwarp::net
