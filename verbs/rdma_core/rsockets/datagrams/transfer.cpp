// SPDX-License-Identifier: Apache-2.0
// Functions of class DatagramRSocket that send and receive messages. Any host can forge a message,
// so received messages are validated in this file and in Peers. Invalid messages are dropped and
// counted.
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cm/address.hpp"
#include "rsockets/common/pieces.hpp"
#include "rsockets/datagrams/rsocket.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// The maximum number of messages from the UDP socket that the rsocket stores. Further messages wait
// in the kernel's socket buffer, and the kernel drops messages when that buffer is full.
constexpr std::size_t kMostByUdp = 64;
constexpr int kUdpAtOnce = 64;

std::uint32_t scope_of(const sockaddr& address) {
  if (address.sa_family != AF_INET6) return 0;
  return reinterpret_cast<const sockaddr_in6&>(address).sin6_scope_id;
}

}  // namespace

std::expected<DatagramRSocket::Target, int> DatagramRSocket::target_of(const sockaddr* to,
                                                                       socklen_t length) const {
  if (to == nullptr) {
    if (!connected_) return std::unexpected(EDESTADDRREQ);
    return *connected_;
  }
  const socklen_t needed = options_.family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (length < sizeof(sa_family_t)) return std::unexpected(EINVAL);
  if (to->sa_family != options_.family) return std::unexpected(EAFNOSUPPORT);
  if (length < needed) return std::unexpected(EINVAL);
  return Target{udp_address_of(*to), scope_of(*to)};
}

void DatagramRSocket::progress() {
  if (endpoint_ == nullptr) return;
  const bool by_udp = take_udp();
  if (take_queue_pair() || by_udp) wake();
}

short DatagramRSocket::state(short wanted) {
  int out = 0;
  if (!messages_.empty()) out |= wanted & (POLLIN | POLLRDNORM);
  if (endpoint_ == nullptr || endpoint_->can_send()) out |= wanted & (POLLOUT | POLLWRNORM);
  return static_cast<short>(out);
}

void DatagramRSocket::watch_udp(bool wanted) {
  if (std::exchange(watches_udp_, wanted) == wanted) return;
  epoll_event event{.events = EPOLLIN, .data = {}};
  (void)::epoll_ctl(either_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, udp_.get(), &event);
}

bool DatagramRSocket::take_udp() {
  bool taken = false;
  for (int round = 0; round < kUdpAtOnce && by_udp_ < kMostByUdp; ++round) {
    std::array<std::byte, kMaxDatagram + 1> octets;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* const sender = reinterpret_cast<sockaddr*>(&from);
    const ssize_t count = ::recvfrom(udp_.get(), octets.data(), octets.size(), 0, sender, &size);
    // Ignores an ICMP error, because a peer that no longer exists is treated like a peer that does
    // not send.
    if (count < 0 && errno == ECONNREFUSED) continue;
    if (count < 0) break;
    taken = true;
    take_udp_message(std::span(octets).first(static_cast<std::size_t>(count)), *sender);
  }
  watch_udp(by_udp_ < kMostByUdp);
  return taken;
}

void DatagramRSocket::take_udp_message(std::span<const std::byte> octets, const sockaddr& from) {
  const UdpAddress place = udp_address_of(from);
  const auto message = octets.size() <= kMaxDatagram ? decode_udp(octets) : std::nullopt;
  if (!message || (message->header.version == Version::kIpv4 && !place.is_ipv4())) {
    ++dropped_.malformed;
    return;
  }
  if (!takes_from(place)) {
    ++dropped_.strangers;
    return;
  }
  if (message->header.kind == UdpKind::kControl) {
    if (!peers_.take_answer(place, message->header)) ++dropped_.unasked;
    return;
  }
  answer(peers_.learn(place, scope_of(from), message->header), octets.size());
  auto& entry = messages_.emplace_back(Message{
      .from = place, .scope = scope_of(from), .slot = std::nullopt, .copy = {}, .octets = {}});
  entry.copy.assign(message->payload.begin(), message->payload.end());
  entry.octets = entry.copy;
  ++by_udp_;
}

// An AF_INET rsocket sends headers of version 4 to all peers, because its addresses are IPv4
// addresses. An AF_INET6 rsocket uses the version of the header that the peer uses. A peer with an
// AF_INET6 socket may use version 6 even over IPv4.
Version DatagramRSocket::version_of(const Peer& peer) const {
  return own_version_ == Version::kIpv4 ? Version::kIpv4 : peer.version;
}

void DatagramRSocket::answer(Peer& peer, std::size_t received) {
  if (!Peers::is_to_be_answered(peer, received, std::chrono::steady_clock::now())) return;
  find_own(peer);
  std::array<std::byte, udp_header_size(Version::kIpv6)> octets;
  const std::size_t length = encode(UdpHeader{.version = version_of(peer),
                                              .kind = UdpKind::kControl,
                                              .queue_pair = endpoint_->queue_pair(),
                                              .sender = peer.own},
                                    octets);
  const auto to = address_of(peer.place, options_.family, peer.scope);
  const auto& address = reinterpret_cast<const sockaddr&>(to);
  (void)::sendto(udp_.get(), octets.data(), length, 0, &address, size_of(address));
}

std::uint64_t* DatagramRSocket::fault_of(const std::optional<Decoded<QpHeader>>& message,
                                         const UdpAddress& from) {
  if (!message) return &dropped_.malformed;
  const UdpAddress& sender = message->header.sender;
  if (sender.ip != from.ip) return &dropped_.forged;
  if (options_.family == AF_INET && !from.is_ipv4()) return &dropped_.forged;
  return takes_from(sender) ? nullptr : &dropped_.strangers;
}

// Takes messages from the queue pair. Drops a message if the sender's address in the header of the
// message is not the source address of the datagram.
bool DatagramRSocket::take_queue_pair() {
  received_.clear();
  const bool taken = endpoint_->take(received_);
  for (const auto& got : received_) {
    const auto message = decode_qp(got.octets);
    if (std::uint64_t* const fault = fault_of(message, got.from)) {
      ++*fault;
      (void)endpoint_->post_receive(got.slot);
      continue;
    }
    const Peer* const peer = peers_.find(message->header.sender);
    messages_.push_back({.from = message->header.sender,
                         .scope = peer != nullptr ? peer->scope : 0,
                         .slot = got.slot,
                         .copy = {},
                         .octets = message->payload});
  }
  return taken;
}

// [RCM-389]
void DatagramRSocket::consume() {
  if (messages_.front().slot) {
    (void)endpoint_->post_receive(*messages_.front().slot);
  } else {
    --by_udp_;
    watch_udp(true);
  }
  messages_.pop_front();
}

Socket::Result DatagramRSocket::receive(Pieces into, int flags, Arrival* arrival) {
  Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  if (const int code = open()) return std::unexpected(code);
  const int code = await(lock, is_nonblocking(flags), deadline(options_.receive_limit),
                         [&] { return !messages_.empty(); });
  if (code != 0) return std::unexpected(code);
  const Message& message = messages_.front();
  Cursor(into).copy_from(message.octets);
  const std::size_t length = message.octets.size();
  const std::size_t copied = std::min(length, total(into));
  if (arrival != nullptr) {
    arrival->sender = address_of(message.from, options_.family, message.scope);
    arrival->cut = copied < length;
  }
  if ((flags & MSG_PEEK) == 0) consume();
  return (flags & MSG_TRUNC) != 0 ? length : copied;
}

// Looks up the local address from which this host sends to the peer. The lookup is done only once
// for each peer.
void DatagramRSocket::find_own(Peer& peer) {
  if (std::exchange(peer.has_own, true)) return;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(udp_.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return;
  const std::uint16_t port = udp_address_of(reinterpret_cast<const sockaddr&>(own)).port;
  if (is_any(reinterpret_cast<const sockaddr&>(own))) {
    const auto to = address_of(peer.place, options_.family, peer.scope);
    const auto source = find_source(reinterpret_cast<const sockaddr&>(to), nullptr);
    if (!source) return;
    own = *source;
  }
  peer.own = udp_address_of(reinterpret_cast<const sockaddr&>(own));
  peer.own.port = port;
}

Socket::Result DatagramRSocket::send(Pieces from, int flags, const sockaddr* to, socklen_t length) {
  Lock lock(mutex_);
  if (closed_) return std::unexpected(EBADF);
  const auto target = target_of(to, length);
  if (!target) return std::unexpected(target.error());
  if (const int code = open()) return std::unexpected(code);
  const std::size_t octets = total(from);
  if (octets > kMaxDatagram - udp_header_size(own_version_)) return std::unexpected(EMSGSIZE);
  const int code = await(lock, is_nonblocking(flags), deadline(options_.send_limit),
                         [&] { return endpoint_->can_send(); });
  if (code != 0) return std::unexpected(code);
  Peer& peer = peers_.want(target->place, target->scope, own_version_);
  find_own(peer);
  const bool fits = qp_header_size(version_of(peer)) + octets <= endpoint_->max_message();
  if (peer.queue_pair && fits) {
    if (!std::exchange(peer.looked_up_handle, true)) {
      peer.address_handle = endpoint_->address_handle(peer.own, peer.place);
    }
    if (peer.address_handle != nullptr) return send_by_queue_pair(peer, from, octets);
  }
  peer.asked = true;
  return send_by_udp(lock, *target, from, flags);
}

Socket::Result DatagramRSocket::send_by_queue_pair(Peer& peer, Pieces from, std::size_t length) {
  const auto memory = endpoint_->send_memory();
  const std::size_t header =
      encode(QpHeader{.version = version_of(peer), .sender = peer.own}, memory);
  Cursor(from).copy_to(memory.subspan(header, length));
  if (const int code = endpoint_->send(header + length, peer)) return std::unexpected(code);
  return length;
}

Socket::Result DatagramRSocket::send_by_udp(Lock& lock, const Target& to, Pieces from, int flags) {
  const auto until = deadline(options_.send_limit);
  const Peer& peer = *peers_.find(to.place);
  std::array<std::byte, kMaxDatagram> octets;
  const std::size_t header = encode(UdpHeader{.version = version_of(peer),
                                              .kind = UdpKind::kData,
                                              .queue_pair = endpoint_->queue_pair(),
                                              .sender = peer.own},
                                    octets);
  const std::size_t length = total(from);
  if (length > octets.size() - header) return std::unexpected(EMSGSIZE);
  const auto all = std::span(octets).first(header + length);
  Cursor(from).copy_to(all.subspan(header));
  const auto address = address_of(to.place, options_.family, to.scope);
  const auto& name = reinterpret_cast<const sockaddr&>(address);
  while (::sendto(udp_.get(), all.data(), all.size(), MSG_NOSIGNAL, &name, size_of(name)) < 0) {
    // Sends this message again, because the kernel has reported an ICMP error for an earlier
    // message.
    if (errno == ECONNREFUSED) continue;
    if (errno != EAGAIN || is_nonblocking(flags)) return std::unexpected(errno);
    if (until && std::chrono::steady_clock::now() >= *until) return std::unexpected(EAGAIN);
    constexpr int kMoment = 10;
    pollfd room{.fd = udp_.get(), .events = POLLOUT, .revents = 0};
    lock.unlock();
    (void)::poll(&room, 1, kMoment);
    lock.lock();
    if (closed_) return std::unexpected(EBADF);
  }
  return length;
}

}  // namespace iwarp::rdma_core::rsockets
