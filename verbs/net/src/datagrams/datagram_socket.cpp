// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: an unconnected socket is an IPv6 socket that serves both families. Only on a
// kernel without IPv6 is it an IPv4 socket. A connected socket has the family of its peer: through
// an IPv6 socket, the kernel would look up the route to an IPv4 peer for each datagram.
#include "iwarp/net/datagram_socket.hpp"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "iwarp/net/socket_ops.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

constexpr IpAddress kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t kIpv4At = 12;
constexpr int kV6All = 29;  // IPV6_MULTICAST_ALL, which <netinet/in.h> lacks

in_addr to_v4(const IpAddress& address) {
  in_addr out{};
  std::memcpy(&out, address.data() + kIpv4At, sizeof out);
  return out;
}

in6_addr to_v6(const IpAddress& address) { return std::bit_cast<in6_addr>(address); }

IpAddress from_v4(const in_addr& address) {
  IpAddress out = kMapped;
  std::memcpy(out.data() + kIpv4At, &address, sizeof address);
  return out;
}

IpAddress from_v6(const in6_addr& address) { return std::bit_cast<IpAddress>(address); }

union Endpoint {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t put(Endpoint& to, bool as_v6, const IpAddress& ip, unsigned interface,
              std::uint16_t port) {
  if (!as_v6) {
    to.v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = to_v4(ip)};
    return sizeof to.v4;
  }
  to.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = to_v6(ip)};
  if (is_local_to_link(ip)) to.v6.sin6_scope_id = interface;
  return sizeof to.v6;
}

union Control {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) +
                       CMSG_SPACE(sizeof(std::uint16_t))>
      octets;
};

/// Appends a control message to `message`.
template <typename Info>
void put(msghdr& message, int level, int type, const Info& info) {
  auto* const at = static_cast<char*>(message.msg_control) + message.msg_controllen;
  message.msg_controllen += CMSG_SPACE(sizeof info);
  auto* const header = reinterpret_cast<cmsghdr*>(at);
  *header = {.cmsg_len = CMSG_LEN(sizeof info), .cmsg_level = level, .cmsg_type = type};
  std::memcpy(CMSG_DATA(header), &info, sizeof info);
}

/// Appends the hop limit and the traffic class to `message`. Omits a value of 0, so that the
/// system's default applies.
void put_header_fields(msghdr& message, const DatagramPath& path) {
  // The address family of the peer determines the options' level, even if the socket is IPv6.
  const bool v4 = is_ipv4(path.peer);
  const int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
  if (path.hop_limit != 0) put(message, level, v4 ? IP_TTL : IPV6_HOPLIMIT, int{path.hop_limit});
  if (path.traffic_class != 0) {
    put(message, level, v4 ? IP_TOS : IPV6_TCLASS, int{path.traffic_class});
  }
}

/// Appends the source address to `message`.
void put_source(msghdr& message, bool as_v6, const DatagramPath& path) {
  // A datagram to a multicast group is sent on the interface of the path, not on the interface that
  // the routing table selects.
  const unsigned interface =
      is_local_to_link(path.peer) || is_multicast(path.peer) ? path.interface : 0;
  if (as_v6) {
    put(message, IPPROTO_IPV6, IPV6_PKTINFO,
        in6_pktinfo{.ipi6_addr = to_v6(path.own), .ipi6_ifindex = interface});
  } else {
    put(message, IPPROTO_IP, IP_PKTINFO,
        in_pktinfo{.ipi_ifindex = static_cast<int>(interface), .ipi_spec_dst = to_v4(path.own)});
  }
}

std::size_t size_of(const DatagramSocket::Sending& datagram) {
  std::size_t total = 0;
  for (const iovec& piece : datagram.pieces) total += piece.iov_len;
  return total;
}

/// Returns whether `b` may follow `a` in one message that the kernel cuts into datagrams.
bool is_continued(const DatagramSocket::Sending& a, const DatagramSocket::Sending& b) {
  return a.pieces.data() + a.pieces.size() == b.pieces.data() && a.port == b.port &&
         a.path == b.path;
}

/// Returns how many datagrams, starting with the first, can be sent as one message. All of these
/// have the same `size`, except that the last one may be smaller.
std::size_t run_of(std::span<const DatagramSocket::Sending> datagrams, std::size_t size,
                   std::size_t longest) {
  constexpr std::size_t kMostOctets = 65000;  // slightly less than the largest UDP payload
  longest = std::min({longest, datagrams.size(), kMostOctets / size});
  std::size_t count = 1;
  while (count < longest && is_continued(datagrams[count - 1], datagrams[count])) {
    const std::size_t next = size_of(datagrams[count]);
    if (next > size) break;
    ++count;
    if (next < size) break;
  }
  return count;
}

/// Returns whether `error` may mean that the kernel, the route or the device cannot cut messages,
/// or cannot cut them into pieces of the requested size.
bool is_refusal_to_segment(int error) {
  return error == EINVAL || error == EMSGSIZE || error == EIO || error == EOPNOTSUPP;
}

template <typename Info>
Info get(const cmsghdr& from) {
  Info out{};
  std::memcpy(&out, CMSG_DATA(&from), sizeof out);
  return out;
}

void take_v4(const cmsghdr& from, DatagramPath& path) {
  if (from.cmsg_type == IP_PKTINFO) {
    const auto info = get<in_pktinfo>(from);
    path.own = from_v4(info.ipi_addr);
    path.interface = static_cast<unsigned>(info.ipi_ifindex);
  } else if (from.cmsg_type == IP_TTL) {
    path.hop_limit = static_cast<std::uint8_t>(get<int>(from));
  } else if (from.cmsg_type == IP_TOS) {
    path.traffic_class = get<std::uint8_t>(from);
  }
}

void take_v6(const cmsghdr& from, DatagramPath& path) {
  if (from.cmsg_type == IPV6_PKTINFO) {
    const auto info = get<in6_pktinfo>(from);
    path.own = from_v6(info.ipi6_addr);
    path.interface = info.ipi6_ifindex;
  } else if (from.cmsg_type == IPV6_HOPLIMIT) {
    path.hop_limit = static_cast<std::uint8_t>(get<int>(from));
  } else if (from.cmsg_type == IPV6_TCLASS) {
    path.traffic_class = static_cast<std::uint8_t>(get<int>(from));
  }
}

/// Reads the local address, the interface, the hop limit and the traffic class of a received
/// datagram.
void take_destination(msghdr& message, DatagramPath& path) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == IPPROTO_IP) take_v4(*c, path);
    if (c->cmsg_level == IPPROTO_IPV6) take_v6(*c, path);
  }
}

std::error_code error_of(int code) { return code == 0 ? std::error_code{} : last_error(); }

/// Makes the kernel report the local address of each datagram.
bool request_destination(int fd, bool as_v6) {
  return as_v6 ? set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
               : set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

std::expected<UniqueFd, std::error_code> open_socket(bool as_v6) {
  constexpr int kKind = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int raw = ::socket(as_v6 ? AF_INET6 : AF_INET, kKind, 0);
  if (raw < 0) return std::unexpected(last_error());
  UniqueFd fd(raw);
  const bool ready = set_option(raw, IPPROTO_IP, IP_RECVTTL, 1) &&
                     set_option(raw, IPPROTO_IP, IP_RECVTOS, 1) &&
                     (!as_v6 || (set_option(raw, IPPROTO_IPV6, IPV6_V6ONLY, 0) &&
                                 set_option(raw, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) &&
                                 set_option(raw, IPPROTO_IPV6, IPV6_RECVTCLASS, 1)));
  if (!ready) return std::unexpected(last_error());
  // Allow fragmentation, so that a datagram larger than the path MTU is not dropped.
  if (as_v6) set_option(raw, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
  set_option(raw, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
  return fd;
}

std::error_code bind_to(int fd, bool as_v6, const IpAddress& at, unsigned interface,
                        std::uint16_t port) {
  Endpoint endpoint{};
  const socklen_t size = put(endpoint, as_v6, at, interface, port);
  return error_of(::bind(fd, &endpoint.any, size));
}

/// Sets the hop limit and the traffic class of all datagrams that the socket sends. A value of 0
/// keeps the system's default.
bool set_header_fields(int fd, bool as_v6, const DatagramPath& path) {
  const int level = as_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  return (path.hop_limit == 0 ||
          set_option(fd, level, as_v6 ? IPV6_UNICAST_HOPS : IP_TTL, path.hop_limit)) &&
         (path.traffic_class == 0 ||
          set_option(fd, level, as_v6 ? IPV6_TCLASS : IP_TOS, path.traffic_class));
}

std::error_code bind_in_range(int fd, bool as_v6, PortRange range) {
  std::error_code last;
  for (std::uint32_t port = range.first; port <= range.last; ++port) {
    last = bind_to(fd, as_v6, {}, 0, static_cast<std::uint16_t>(port));
    if (last != std::errc::address_in_use) break;
  }
  return last;
}

std::error_code join_group(int fd, const IpAddress& group, unsigned interface) {
  if (is_ipv4(group)) {
    const ip_mreqn request{.imr_multiaddr = to_v4(group),
                           .imr_ifindex = static_cast<int>(interface)};
    return error_of(::setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request));
  }
  const ipv6_mreq request{.ipv6mr_multiaddr = to_v6(group), .ipv6mr_interface = interface};
  return error_of(::setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request));
}

}  // namespace

bool is_local_to_link(const IpAddress& address) {
  const in6_addr v6 = to_v6(address);
  return IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_MC_LINKLOCAL(&v6);
}

bool is_multicast(const IpAddress& address) {
  return is_ipv4(address) ? IN_MULTICAST(ntohl(to_v4(address).s_addr)) : address[0] == 0xFF;
}

std::expected<DatagramSocket, std::error_code> DatagramSocket::open(std::uint16_t port,
                                                                    PortRange range) {
  bool as_v6 = true;
  auto fd = open_socket(true);
  if (!fd && fd.error() == std::errc::address_family_not_supported) {
    as_v6 = false;
    fd = open_socket(false);
  }
  if (!fd) return std::unexpected(fd.error());
  if (!request_destination(fd->get(), as_v6)) return std::unexpected(last_error());
  const auto error = port == 0 && range.last != 0 ? bind_in_range(fd->get(), as_v6, range)
                                                  : bind_to(fd->get(), as_v6, {}, 0, port);
  if (error) return std::unexpected(error);
  const std::uint16_t bound = local_address(fd->get()).port;
  return DatagramSocket(std::move(*fd), as_v6, bound);
}

std::expected<DatagramSocket, std::error_code> DatagramSocket::open_at(const IpAddress& at,
                                                                       unsigned interface,
                                                                       std::uint16_t port) {
  const bool as_v6 = !is_ipv4(at);
  auto fd = open_socket(as_v6);
  if (!fd) return std::unexpected(fd.error());
  if (!request_destination(fd->get(), as_v6)) return std::unexpected(last_error());
  const bool is_group = is_multicast(at);
  if (is_group && !set_option(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1))
    return std::unexpected(last_error());
  // Without this option the socket would receive the datagrams of all groups that any program of
  // this host has joined. A kernel may lack the option.
  if (is_group)
    set_option(fd->get(), as_v6 ? IPPROTO_IPV6 : IPPROTO_IP, as_v6 ? kV6All : IP_MULTICAST_ALL, 0);
  auto error = bind_to(fd->get(), as_v6, at, interface, port);
  if (!error && is_group) error = join_group(fd->get(), at, interface);
  if (error) return std::unexpected(error);
  const std::uint16_t bound = local_address(fd->get()).port;
  return DatagramSocket(std::move(*fd), as_v6, bound);
}

std::error_code DatagramSocket::join(const IpAddress& group, unsigned interface) const {
  const auto error = join_group(fd_.get(), group, interface);
  // This error means that the socket has already joined the group on this interface.
  return error == std::errc::address_in_use ? std::error_code{} : error;
}

std::expected<DatagramSocket, std::error_code> DatagramSocket::open_to(const DatagramPath& path,
                                                                       std::uint16_t port,
                                                                       std::uint16_t own_port) {
  const bool as_v6 = !is_ipv4(path.peer);
  if (as_v6 == is_ipv4(path.own)) {
    return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  }
  auto fd = open_socket(as_v6);
  if (!fd) return std::unexpected(fd.error());
  DatagramSocket out(std::move(*fd), as_v6, own_port);
  out.is_connected_ = true;
  out.own_ = path.own;
  out.share_port(true);
  if (const auto error = bind_to(out.fd(), as_v6, path.own, path.interface, own_port)) {
    return std::unexpected(error);
  }
  Endpoint peer{};
  const socklen_t size = put(peer, as_v6, path.peer, path.interface, port);
  if (!set_header_fields(out.fd(), as_v6, path) || ::connect(out.fd(), &peer.any, size) != 0) {
    return std::unexpected(last_error());
  }
  return out;
}

void DatagramSocket::share_port(bool may) const {
  set_option(fd_.get(), SOL_SOCKET, SO_REUSEPORT, may ? 1 : 0);
}

void DatagramSocket::request_room(int octets) const {
  // Most processes lack the privilege for SO_RCVBUFFORCE, so fall back to SO_RCVBUF.
  if (!set_option(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, octets)) {
    set_option(fd_.get(), SOL_SOCKET, SO_RCVBUF, octets);
  }
}

std::uint32_t DatagramSocket::lost() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> figures{};
  socklen_t size = sizeof figures;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_MEMINFO, figures.data(), &size) != 0) return 0;
  return figures[SK_MEMINFO_DROPS];
}

std::size_t DatagramSocket::receive(std::span<Received> into) const {
  std::array<mmsghdr, kBatch> messages;
  std::array<iovec, kBatch> rooms;
  std::array<Endpoint, kBatch> peers;
  std::array<Control, kBatch> controls;
  const std::size_t count = std::min(into.size(), kBatch);
  for (std::size_t i = 0; i < count; ++i) {
    rooms[i] = {.iov_base = into[i].room.data(), .iov_len = into[i].room.size()};
    messages[i].msg_hdr = {.msg_name = &peers[i],
                           .msg_namelen = sizeof peers[i],
                           .msg_iov = &rooms[i],
                           .msg_iovlen = 1,
                           .msg_control = &controls[i],
                           .msg_controllen = sizeof controls[i]};
  }
  const auto receive = [&] {
    return socket_ops().receive_datagrams(fd_.get(), messages.data(), static_cast<unsigned>(count),
                                          MSG_DONTWAIT);
  };
  int n = receive();
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) n = receive();
  const std::size_t taken = n > 0 ? static_cast<std::size_t>(n) : 0;
  for (std::size_t i = 0; i < taken; ++i) {
    msghdr& message = messages[i].msg_hdr;
    Received& out = into[i];
    out.size = std::min<std::size_t>(messages[i].msg_len, out.room.size());
    out.is_cut = (message.msg_flags & MSG_TRUNC) != 0;
    const bool from_v6_peer = peers[i].any.sa_family == AF_INET6;
    out.path = {.own = own_};
    out.path.peer = from_v6_peer ? from_v6(peers[i].v6.sin6_addr) : from_v4(peers[i].v4.sin_addr);
    out.port = ntohs(from_v6_peer ? peers[i].v6.sin6_port : peers[i].v4.sin_port);
    take_destination(message, out.path);
  }
  return taken;
}

bool DatagramSocket::has_any() const {
  const auto look = [this] { return ::recv(fd_.get(), nullptr, 0, MSG_PEEK | MSG_DONTWAIT); };
  ssize_t n = look();
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) n = look();
  return n >= 0;
}

DatagramSocket::Sent DatagramSocket::send(std::span<const Sending> datagrams) const {
  const std::size_t longest_run = socket_ops().cuts_messages ? kBatch : 1;
  const std::size_t sent = send(datagrams, longest_run);
  if (sent != 0 || !is_refusal_to_segment(errno)) return {.count = sent};
  const bool was_one_message = run_of(datagrams, size_of(datagrams.front()), longest_run) > 1;
  if (!was_one_message) return {.count = 0};
  return {.count = send(datagrams, 1), .calls = 2};
}

std::size_t DatagramSocket::send(std::span<const Sending> datagrams,
                                 std::size_t longest_run) const {
  std::array<mmsghdr, kBatch> messages;
  std::array<Endpoint, kBatch> peers;
  std::array<Control, kBatch> controls;
  std::array<std::size_t, kBatch> runs;
  std::size_t count = 0;
  for (auto rest = datagrams.first(std::min(datagrams.size(), kBatch)); !rest.empty(); ++count) {
    const Sending& one = rest.front();
    const std::size_t size = size_of(one);
    const std::size_t run = runs[count] = run_of(rest, size, longest_run);
    const auto& last = rest[run - 1].pieces;
    msghdr& message = messages[count].msg_hdr;
    message = {
        .msg_iov = one.pieces.data(),
        .msg_iovlen = static_cast<std::size_t>(last.data() + last.size() - one.pieces.data()),
        .msg_control = &controls[count]};
    if (!is_connected_) {
      message.msg_name = &peers[count];
      message.msg_namelen = put(peers[count], is_v6_, one.path.peer, one.path.interface, one.port);
      put_source(message, is_v6_, one.path);
      put_header_fields(message, one.path);
    }
    if (run > 1) put(message, SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(size));
    rest = rest.subspan(run);
  }
  const int n = socket_ops().send_datagrams(
      fd_.get(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
  const auto taken = std::span(runs).first(n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::accumulate(taken.begin(), taken.end(), std::size_t{0});
}

}  // namespace iwarp::net
