// SPDX-License-Identifier: Apache-2.0
// DrivenDatagrams: opens connected sockets, on the queue pair's own port, to the peers to which the
// queue pair sends most. Through such a socket, the kernel looks up the route to the peer once
// instead of for each datagram, and neither sending nor receiving has to pass the local address.
#include <algorithm>

#include "datagrams/driven_datagrams.hpp"

namespace iwarp::net {
namespace {

constexpr std::size_t kMostPeers = 4;
/// A peer gets a socket after this number of consecutive send calls to it.
constexpr unsigned kOftenInARow = 32;
/// After this number of datagrams to other peers, a peer's socket may be closed to make room for a
/// socket of another peer.
constexpr std::uint64_t kForgotten = 4096;

}  // namespace

DrivenDatagrams::Door* DrivenDatagrams::door_to(const DatagramSocket::Sending& one) const {
  if (peers_ == 0) return nullptr;
  const auto is_its = [&](const auto& door) {
    return door->peer && door->peer->port == one.port && door->peer->path == one.path;
  };
  const auto at = std::ranges::find_if(doors_, is_its);
  return at != doors_.end() ? at->get() : nullptr;
}

// Sends the leading datagrams that use the same socket, and returns the number sent. If it returns
// 0, errno says why.
std::size_t DrivenDatagrams::send(std::span<const DatagramSocket::Sending> datagrams) {
  Door* const connected = door_to(datagrams.front());
  std::size_t count = 1;
  while (count != datagrams.size() && door_to(datagrams[count]) == connected) ++count;
  const auto send_by = [&](Door& door) {
    sender_ = &door;
    const auto [sent, calls] = door.socket.send(datagrams.first(count));
    core_.counters().send_calls += calls;
    return sent;
  };
  if (connected != nullptr) {
    connected->last_sent = core_.counters().sent;
    const auto sent = send_by(*connected);
    // The error may belong to an earlier datagram. An unconnected socket does not report such
    // errors, so try again with the queue pair's own socket, which is unconnected.
    if (sent != 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return sent;
  }
  const auto sent = send_by(*doors_.front());
  if (sent != 0 && connected == nullptr) note_peer(datagrams[sent - 1]);
  return sent;
}

void DrivenDatagrams::note_peer(const DatagramSocket::Sending& last) {
  const DatagramDoor::Peer peer{.path = last.path, .port = last.port};
  calls_in_a_row_ = peer == last_peer_ ? calls_in_a_row_ + 1 : 1;
  last_peer_ = peer;
}

// Opens a connected socket to last_peer_ after kOftenInARow consecutive send calls to it. Returns
// whether a socket was added or replaced.
bool DrivenDatagrams::connect_often() {
  if (calls_in_a_row_ < kOftenInARow || blocked_ != nullptr) return false;
  calls_in_a_row_ = 0;
  const auto& [path, port] = last_peer_;
  // With two sockets for the same addresses, the kernel would choose one of them for each datagram,
  // and the order of the datagrams would be lost.
  const bool is_known = std::ranges::any_of(doors_, [&](const auto& door) {
    return door->peer && door->peer->port == port && door->peer->path.peer == path.peer &&
           door->peer->path.own == path.own && door->peer->path.interface == path.interface;
  });
  if (is_known || is_multicast(path.peer) || !make_room_for_peer()) return false;
  const auto share = [this](bool may) {
    for (const auto& door : doors_) {
      if (door->group == IpAddress{}) door->socket.share_port(may);
    }
  };
  share(true);
  auto socket = DatagramSocket::open_to(path, port, doors_.front()->socket.port());
  share(false);
  if (!socket) return false;
  socket->share_port(false);
  try {
    Door& door = add_door(std::move(*socket));
    door.peer = last_peer_;
    door.last_sent = core_.counters().sent;
  } catch (const std::bad_alloc&) {
    // The caller holds a lock, so do not throw. The first door continues to send to this peer.
    return false;
  }
  ++peers_;
  older_ = kDrained;
  return true;
}

// Returns whether there is room for another peer's socket. To make room, closes the socket of the
// peer to which the queue pair has sent least recently. Does not close it if the last send is
// recent, or if the socket has unread datagrams.
bool DrivenDatagrams::make_room_for_peer() {
  if (peers_ < kMostPeers) return true;
  const auto last_sent = [](const auto& door) {
    return door->peer ? door->last_sent : ~std::uint64_t{0};
  };
  const auto oldest = std::ranges::min_element(doors_, {}, last_sent);
  Door& door = **oldest;
  const bool is_recent = core_.counters().sent - door.last_sent < kForgotten;
  if (is_recent || door.socket.has_any()) return false;
  count_lost(door);
  doors_.erase(oldest);
  --peers_;
  return true;
}

}  // namespace iwarp::net
