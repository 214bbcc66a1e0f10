// SPDX-License-Identifier: Apache-2.0
// Creates TCP sockets, and gets and sets their options and addresses. Knows no protocol above TCP.
// No function blocks except await_octets().
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
  socklen_t length = sizeof storage;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};
SocketAddress to_socket_address(const boost::asio::ip::tcp::endpoint& endpoint);

/// Each of the next three functions returns a numeric host and a port. IPv4 addresses mapped into
/// IPv6 become IPv4.
Address to_address(const SocketAddress& address);
Address local_address(int fd);
Address peer_address(int fd);
/// Returns whether `peer`, which is connected to `own`, has an address of this host. May make
/// system calls.
bool is_local(const Address& peer, const Address& own);

std::error_code last_error();
/// Sets an option of type int. If the kernel refuses it, returns false with errno set.
bool set_option(int fd, int level, int name, int value);
/// Returns the verbs code for an error of the operating system or of the resolver.
std::error_code to_errc(const std::error_code& error);
/// Opens a TCP socket, non-blocking and close-on-exec.
std::expected<UniqueFd, std::error_code> open_tcp_socket(int family);
/// Which sockets may already use the port that open_bound() binds.
enum class Sharing : std::uint8_t {
  kNever,         ///< no socket
  kWithFormer,    ///< connections, open or in TIME_WAIT, whose listener is closed
  kWithReserved,  ///< sockets of open_bound() of the same user
};
/// Opens a socket that reserves its port, see BoundSocket. If `dual_stack`, an IPv6 socket accepts
/// IPv4 as well.
std::expected<UniqueFd, std::error_code> open_bound(const SocketAddress& at, bool dual_stack,
                                                    Sharing sharing);
/// Listens on a socket of open_bound(). On failure the socket remains unchanged.
std::error_code start_listening(int fd, int backlog);
/// Binds a socket that will connect. Succeeds even if a socket of open_bound() reserves the port.
std::error_code bind_to_connect(int fd, const SocketAddress& from);
/// Makes a connected socket non-blocking, and sets TCP_NODELAY and the congestion control. If the
/// peer is on this host, also limits the send buffer, and an empty name means reno. If the peer is
/// on another host, an empty name means `former`, the result of avoid_pacing(); if both are empty,
/// the congestion control remains.
std::error_code prepare_connected(int fd, const std::string& congestion,
                                  const std::string& former = {});
/// Sets the congestion control of a socket to reno, and returns the name of the former one. Call
/// before the socket connects, or when it listens, because accepted connections inherit it.
std::string avoid_pacing(int fd);
/// Sets the congestion control of a socket. The connections that a listener accepts inherit its
/// congestion control. An empty name changes nothing.
std::error_code set_congestion(int fd, const std::string& name);
/// Returns the name of the congestion control of a socket, or an empty string on failure.
std::string congestion_of(int fd);
bool is_connected_tcp(int fd);
/// Returns the socket's TCP_MAXSEG, or 0 if the kernel does not report it.
std::size_t effective_mss(int fd);
/// Returns the socket's SO_ERROR, which says how a non-blocking connect ended.
std::error_code pending_error(int fd);
/// Returns whether poll(2) reports that the socket buffer has room to send. Does not wait.
bool writable(int fd);
/// Returns whether the peer has reset the connection, or TCP has given up. Octets that arrived
/// earlier may still be unread.
bool is_broken(int fd);
/// Waits until there are octets or a FIN to read, for at most `limit`.
void await_octets(int fd, std::chrono::milliseconds limit);
/// Returns whether the connection has been closed by the peer or reset. Octets that arrived earlier
/// may still be unread.
bool is_closed(int fd);
/// Returns the time since the peer's TCP last sent an acknowledgement. If there are no octets for
/// the peer to acknowledge, returns 0 and makes TCP send a keepalive probe every second. The
/// connection then fails if the peer does not answer these probes.
std::chrono::milliseconds silent_for(int fd);
/// Returns how many descriptors have to be closed so that the process can open `reserve` more, or a
/// quarter of RLIMIT_NOFILE if that is less. `newest` is the descriptor that was opened last, or
/// -1.
std::size_t missing_descriptors(int newest, std::size_t reserve);
/// Makes close(2) of the socket reset the connection.
void reset_on_close(int fd);

}  // namespace iwarp::net
