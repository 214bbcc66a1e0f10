// SPDX-License-Identifier: Apache-2.0
// Reads the sender from the header of a datagram, copies a delayed datagram, and sends the copy
// when it is due and the kernel has room.
#include "faults/datagrams.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "iwarp/bytes/touch.hpp"
#include "iwarp/net/socket_ops.hpp"
#include "iwarp/verbs/datagram.hpp"

namespace iwarp::rdma_core::fault {
namespace {

std::vector<std::byte> copied(const void* from, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(from);
  return {first, first + size};
}

/// Copies the octets of all pieces into one vector. If a piece points to memory of the program that
/// is not mapped, returns an empty vector, and the datagram is lost.
std::vector<std::byte> gathered(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  std::vector<std::byte> out(size);
  std::byte* at = out.data();
  const bool is_there = bytes::guarded([&] {
    bytes::begin_touch();
    for (const iovec& piece : pieces) {
      std::memcpy(at, piece.iov_base, piece.iov_len);
      at += piece.iov_len;
    }
    bytes::end_touch();
  });
  if (!is_there) out.clear();
  return out;
}

}  // namespace

std::uint32_t sender_of(const msghdr& message) {
  if (message.msg_iovlen == 0) return 0;
  // The first piece is the header of the datagram, possibly followed by a short payload.
  const iovec& header = message.msg_iov[0];
  if (header.iov_len < verbs::kDatagramHeaderSize) return 0;
  // Decodes the header as if there were no payload, without checking the CRC.
  std::array<std::byte, verbs::kDatagramOverhead> octets{};
  std::memcpy(octets.data(), header.iov_base, verbs::kDatagramHeaderSize);
  const auto datagram = verbs::decode_datagram(octets);
  return datagram ? datagram->header.source : 0;
}

std::uint64_t cookie_of(int fd) {
  std::uint64_t out = 0;
  socklen_t length = sizeof out;
  return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &out, &length) == 0 ? out : 0;
}

net::UniqueFd same_socket(int fd, std::uint64_t cookie) {
  net::UniqueFd out(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!out || cookie == 0 || cookie_of(out.get()) != cookie) return {};
  return out;
}

bool HeldDatagrams::keep(int fd, const msghdr& message, Time due) {
  Held held{.qp_num = sender_of(message),
            .fd = fd,
            .cookie = cookie_of(fd),
            .to = copied(message.msg_name, message.msg_namelen),
            .control = copied(message.msg_control, message.msg_controllen),
            .octets = gathered(std::span(message.msg_iov, message.msg_iovlen))};
  const std::lock_guard lock(mutex_);
  if (held_.size() == kMax) return false;
  held_.emplace(due, std::move(held));
  return true;
}

void HeldDatagrams::forget(std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& entry) { return entry.second.qp_num == qp_num; });
}

std::optional<HeldDatagrams::Time> HeldDatagrams::release(Time now,
                                                          const std::set<std::uint32_t>& cut) {
  constexpr Time kAgain = std::chrono::milliseconds(1);
  const std::lock_guard lock(mutex_);
  while (!held_.empty() && held_.begin()->first <= now) {
    const Held& held = held_.begin()->second;
    if (!cut.contains(held.qp_num) && !send(held)) return now + kAgain;
    held_.erase(held_.begin());
  }
  return held_.empty() ? std::nullopt : std::optional(held_.begin()->first);
}

// Sends a delayed datagram. Returns false if the kernel has no room for it yet. Returns true if the
// datagram was sent, or if it is lost because of an error that would occur again.
bool HeldDatagrams::send(const Held& held) {
  const auto socket = same_socket(held.fd, held.cookie);
  if (!socket || held.octets.empty()) return true;
  // The const_casts are safe because sendmmsg() only reads through these pointers.
  iovec piece{.iov_base = const_cast<std::byte*>(held.octets.data()),
              .iov_len = held.octets.size()};
  mmsghdr message{.msg_hdr = {.msg_name = const_cast<std::byte*>(held.to.data()),
                              .msg_namelen = static_cast<socklen_t>(held.to.size()),
                              .msg_iov = &piece,
                              .msg_iovlen = 1,
                              .msg_control = const_cast<std::byte*>(held.control.data()),
                              .msg_controllen = held.control.size(),
                              .msg_flags = 0},
                  .msg_len = 0};
  const auto send = [&] {
    return net::kernel_socket_ops().send_datagrams(socket.get(), &message, 1,
                                                   MSG_DONTWAIT | MSG_NOSIGNAL);
  };
  int n = send();
  // Sends this datagram again, because the error ECONNREFUSED belongs to an earlier datagram.
  if (n != 1 && errno == ECONNREFUSED) n = send();
  return n == 1 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace iwarp::rdma_core::fault
