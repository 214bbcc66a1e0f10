// SPDX-License-Identifier: Apache-2.0
// TCP sockets: creating them, their options, their addresses. No protocol; only await_octets()
// waits.
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

/// Return a numeric host and port. IPv4 addresses mapped into IPv6 are shown as IPv4.
Address to_address(const SocketAddress& address);
Address local_address(int fd);
Address peer_address(int fd);
/// Returns whether `peer`, connected to `own`, has an address of this host. May ask the kernel.
bool is_local(const Address& peer, const Address& own);

std::error_code last_error();
/// Returns the verbs code for an error of the operating system or of the resolver.
std::error_code to_errc(const std::error_code& error);
/// Opens a TCP socket, non-blocking and close-on-exec.
std::expected<UniqueFd, std::error_code> open_tcp_socket(int family);
/// Which other sockets may share a port.
enum class Sharing : std::uint8_t {
  kNever,
  kWithFormer,  ///< with connections, in TIME_WAIT or open, whose listener has gone
};
/// Opens a socket that reserves its port, see BoundSocket. `dual_stack`: IPv6 that accepts IPv4
/// too.
std::expected<UniqueFd, std::error_code> open_bound(const SocketAddress& at, bool dual_stack,
                                                    Sharing sharing);
/// Listens on a socket of open_bound(). If it fails, the socket is as before.
std::error_code start_listening(int fd, int backlog);
/// Binds a socket that will connect, also to a port that a socket of open_bound() reserves.
std::error_code bind_to_connect(int fd, const SocketAddress& from);
/// Makes a connected socket non-blocking and sets TCP_NODELAY.
std::error_code prepare_connected(int fd);
/// Sets the congestion control of a socket, and of what a listener accepts from then on. An empty
/// name changes nothing.
std::error_code set_congestion(int fd, const std::string& name);
/// Returns whether it is a connected TCP socket.
bool is_connected_tcp(int fd);
/// Returns TCP_MAXSEG; 0: the kernel does not say.
std::size_t effective_mss(int fd);
/// Returns SO_ERROR: how a connect ended.
std::error_code pending_error(int fd);
/// Returns whether the socket buffer has room worth a send, as poll(2) sees it. Does not wait.
bool writable(int fd);
/// Returns whether the peer has reset the connection or TCP has given up. Octets that arrived
/// before may still be unread.
bool is_broken(int fd);
/// Returns when there are octets or a FIN to read, or after `limit`.
void await_octets(int fd, std::chrono::milliseconds limit);
/// Returns whether the peer has closed the connection or it has been reset. Octets that arrived
/// before may still be unread.
bool is_closed(int fd);
/// Returns how long ago the peer's TCP last showed that it is alive. If it owes no acknowledgement,
/// returns 0 and makes the kernel ask for one each second; the connection then fails if none comes.
std::chrono::milliseconds silent_for(int fd);
/// Returns whether `fd` is one of the last `reserve` numbers that the process may use, or of the
/// last quarter if that is less. The kernel assigns the lowest free number, so few more are
/// available then.
bool is_reserved(int fd, std::size_t reserve);
/// Makes the next close of the socket a reset.
void reset_on_close(int fd);

}  // namespace iwarp::net
