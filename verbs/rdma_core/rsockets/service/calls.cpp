// SPDX-License-Identifier: Apache-2.0
// Implements the functions of <rdma/rsocket.h>, except rpoll() and rselect(), which are in
// poll.cpp.
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include <cerrno>
#include <cstdarg>
#include <functional>
#include <optional>

#include "device/device.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "rsockets/service/service.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// [RCM-362, RCM-363]
int make(int family, int type, int protocol) {
  constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int kind = type & ~kFlags;
  const bool stream = kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
  const bool datagrams = kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);
  if ((family != AF_INET && family != AF_INET6) || (!stream && !datagrams)) {
    return minus_one(ENOTSUP);
  }
  if (const char* const why = why_no_datagrams(); datagrams && why != nullptr) {
    refuse("rsocket() for datagrams", why);
    return minus_one(ENOTSUP);
  }
  int made = -1;
  const int code = guarded([&] { made = Service::get().make(family, stream, type & kFlags); });
  return code == 0 ? made : minus_one(code);
}

/// Calls `use`, a function of Socket for example, with the rsocket that has this number and with
/// `arguments`. `use` must return 0 or an errno. If the errno is 0, returns 0. Otherwise sets errno
/// and returns -1.
/// [RCM-388]
template <typename Use, typename... Arguments>
int with(int number, Use use, Arguments... arguments) {
  const int code = guarded([&] {
    const auto socket = Service::get().find(number);
    return socket != nullptr ? std::invoke(use, *socket, arguments...) : EBADF;
  });
  return code == 0 ? 0 : minus_one(code);
}

/// Does the same as with(), but `use` must return a count or an errno. Returns the count, or sets
/// errno and returns -1.
template <typename Use, typename... Arguments>
ssize_t counted(int number, Use use, Arguments... arguments) {
  ssize_t out = 0;
  const int code = with(number, [&](Socket& socket) {
    const auto result = std::invoke(use, socket, arguments...);
    if (!result) return result.error();
    out = static_cast<ssize_t>(*result);
    return 0;
  });
  return code == 0 ? out : -1;
}

// [RCM-367]
ssize_t receive(int number, std::span<const iovec> into, int flags, Arrival* arrival = nullptr) {
  return counted(number, &Socket::receive, into, flags, arrival);
}

// [RCM-367]
ssize_t send(int number, std::span<const iovec> from, int flags, const sockaddr* to = nullptr,
             socklen_t length = 0) {
  return counted(number, &Socket::send, from, flags, to, length);
}

/// Stores the address of the sender as recvfrom(2) does: truncates the address to `*length` bytes,
/// and sets `*length` to the full size of the address.
void copy_sender(const Arrival& arrival, sockaddr* out, socklen_t* length) {
  if (out == nullptr || length == nullptr) return;
  const auto& sender = reinterpret_cast<const sockaddr&>(arrival.sender);
  if (sender.sa_family != AF_UNSPEC) copy_address(sender, out, length);
}

iovec piece(const void* buffer, std::size_t length) {
  return {.iov_base = const_cast<void*>(buffer), .iov_len = length};
}

/// Returns the list as a span. If the list is longer than the kernel allows, sets errno and returns
/// nullopt.
std::optional<std::span<const iovec>> list(const iovec* pieces, std::size_t count) {
  constexpr std::size_t kMost = 1024;
  if (count <= kMost) return std::span(pieces, count);
  errno = EINVAL;
  return std::nullopt;
}

}  // namespace

extern "C" {

int rsocket(int domain, int type, int protocol) { return make(domain, type, protocol); }

// [RCM-364]
int rbind(int number, const sockaddr* address, socklen_t length) {
  return with(number, &Socket::bind, address, length);
}

int rlisten(int number, int backlog) { return with(number, &Socket::listen, backlog); }

int raccept(int number, sockaddr* address, socklen_t* length) {
  int out = -1;
  const int code = with(number, [&](auto& socket) {
    const auto accepted = Service::get().accept(socket, address, length);
    if (!accepted) return accepted.error();
    out = *accepted;
    return 0;
  });
  return code == 0 ? out : -1;
}

int rconnect(int number, const sockaddr* address, socklen_t length) {
  return with(number, &Socket::connect, address, length);
}

int rshutdown(int number, int how) { return with(number, &Socket::shutdown, how); }

int rclose(int number) {
  const int code = guarded([&] { return Service::get().close(number); });
  return code == 0 ? 0 : minus_one(code);
}

ssize_t rrecv(int number, void* buffer, size_t length, int flags) {
  const iovec into = piece(buffer, length);
  return receive(number, {&into, 1}, flags);
}

ssize_t rrecvfrom(int number, void* buffer, size_t length, int flags, sockaddr* address,
                  socklen_t* address_length) {
  const iovec into = piece(buffer, length);
  Arrival arrival;
  const ssize_t count = receive(number, {&into, 1}, flags, &arrival);
  if (count >= 0) copy_sender(arrival, address, address_length);
  return count;
}

// Does the same as recvmsg(2), but never returns ancillary data.
ssize_t rrecvmsg(int number, msghdr* message, int flags) {
  const auto into = list(message->msg_iov, message->msg_iovlen);
  if (!into) return -1;
  Arrival arrival;
  const ssize_t count = receive(number, *into, flags, &arrival);
  if (count < 0) return -1;
  auto* const sender = static_cast<sockaddr*>(message->msg_name);
  copy_sender(arrival, sender, &message->msg_namelen);
  message->msg_controllen = 0;
  message->msg_flags = arrival.cut ? MSG_TRUNC : 0;
  return count;
}

ssize_t rread(int number, void* buffer, size_t length) { return rrecv(number, buffer, length, 0); }

ssize_t rreadv(int number, const iovec* pieces, int count) {
  const auto into = list(pieces, static_cast<std::size_t>(count));
  return into ? receive(number, *into, 0) : -1;
}

ssize_t rsend(int number, const void* buffer, size_t length, int flags) {
  const iovec from = piece(buffer, length);
  return send(number, {&from, 1}, flags);
}

ssize_t rsendto(int number, const void* buffer, size_t length, int flags, const sockaddr* address,
                socklen_t address_length) {
  const iovec from = piece(buffer, length);
  return counted(number, [&](auto& socket) -> Socket::Result {
    const bool names = address != nullptr || address_length != 0;
    if (names && !socket.names_peers()) return std::unexpected(EISCONN);
    return socket.send({&from, 1}, flags, address, address_length);
  });
}

ssize_t rsendmsg(int number, const msghdr* message, int flags) {
  if (message->msg_control != nullptr && message->msg_controllen != 0) return minus_one(ENOTSUP);
  const auto from = list(message->msg_iov, message->msg_iovlen);
  const auto* const to = static_cast<const sockaddr*>(message->msg_name);
  return from ? send(number, *from, flags, to, message->msg_namelen) : -1;
}

ssize_t rwrite(int number, const void* buffer, size_t length) {
  return rsend(number, buffer, length, 0);
}

ssize_t rwritev(int number, const iovec* pieces, int count) {
  const auto from = list(pieces, static_cast<std::size_t>(count));
  return from ? send(number, *from, 0) : -1;
}

// [RCM-365]
int rgetpeername(int number, sockaddr* address, socklen_t* length) {
  return with(number, &Socket::peer_address, address, length);
}

int rgetsockname(int number, sockaddr* address, socklen_t* length) {
  return with(number, &Socket::local_address, address, length);
}

int rsetsockopt(int number, int level, int name, const void* value, socklen_t length) {
  const int result = with(number, &Socket::set_option, level, name, value, length);
  // Wakes up the thread of the Service, because the option may have changed the time of the next
  // keepalive.
  if (result == 0) Service::get().recheck();
  return result;
}

int rgetsockopt(int number, int level, int name, void* value, socklen_t* length) {
  return with(number, &Socket::get_option, level, name, value, length);
}

int rfcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const bool sets = command == F_SETFL || command == F_SETFD;
  const int argument = sets ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return static_cast<int>(counted(number, &Socket::control, command, argument));
}

off_t riomap(int number, void* buffer, size_t length, int protection, int /*flags*/, off_t offset) {
  return counted(number, &Socket::map, buffer, length, protection, offset);
}

int riounmap(int number, void* buffer, size_t length) {
  return with(number, &Socket::unmap, buffer, length);
}

size_t riowrite(int number, const void* buffer, size_t length, off_t offset, int flags) {
  const std::span from(static_cast<const std::byte*>(buffer), length);
  return static_cast<size_t>(
      counted(number, &Socket::write_mapped, from, static_cast<std::uint64_t>(offset), flags));
}

}  // extern "C"

}  // namespace iwarp::rdma_core::rsockets
