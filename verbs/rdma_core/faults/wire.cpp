// SPDX-License-Identifier: Apache-2.0
// Wire: the functions that replace system calls, and which connection and device a socket belongs
// to. A send stops before the octet at which a rule is due.
#include "faults/wire.hpp"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <span>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "device/device.hpp"
#include "faults/injector.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/net/socket_ops.hpp"

namespace iwarp::rdma_core::fault {
namespace {

/// The Wire that the replaced system calls use. It is a global variable, because the table of
/// system calls contains only function pointers and no context pointer.
std::atomic<Wire*> attached{nullptr};

/// Makes TCP send a RST, which ends the connection for both ends.
void break_off(int fd) {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  (void)::connect(fd, &none, sizeof none);
}

/// Fails with EAGAIN, as a send or receive on a socket does while no packet passes. The pause slows
/// down a caller that retries at once.
ssize_t nothing_passes() {
  constexpr int kPauseMs = 1;
  ::poll(nullptr, 0, kPauseMs);
  errno = EAGAIN;
  return -1;
}

}  // namespace

Wire::~Wire() {
  if (attached.load() != this) return;
  net::replace_socket_ops(nullptr);
  attached.store(nullptr);
}

void Wire::attach() {
  attached.store(this);
  static constexpr net::SocketOps kFaulty{.socket = ::socket,
                                          .connect = connect,
                                          .accept = accept,
                                          .send = send,
                                          .receive = receive,
                                          .send_datagrams = send_datagrams,
                                          .receive_datagrams = receive_datagrams,
                                          .carries = carries,
                                          .silent_for = silent_for,
                                          .cuts_messages = false};
  net::replace_socket_ops(&kFaulty);
}

void Wire::forget(int fd) {
  const std::lock_guard lock(mutex_);
  connections_.erase(fd);
  qps_.erase(fd);
}

void Wire::carries(int fd, std::uint32_t qp_num) {
  Wire& wire = *attached.load();
  const std::lock_guard lock(wire.mutex_);
  net::insist([&] { wire.qps_[fd] = qp_num; });
}

// Returns the device to which the socket belongs: that of its queue pair or, while a connection
// has none, the device at its local address. Returns null if there is no such device.
const Device* Wire::device_of(int fd) {
  std::uint32_t qp_num = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto it = qps_.find(fd);
    if (it != qps_.end()) qp_num = it->second;
  }
  if (const Device* const device = injector_.device_of(qp_num)) return device;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto& local = reinterpret_cast<sockaddr&>(address);
  if (::getsockname(fd, &local, &length) != 0 || is_any(local)) return nullptr;
  return net::insist([&] { return &device_at(gid_of(local)); });
}

std::optional<std::chrono::nanoseconds> Wire::cut_since(int fd) {
  if (!injector_.is_any_port_down()) return std::nullopt;
  if (const Device* const device = device_of(fd)) return injector_.port_down_since(*device);
  std::optional<std::chrono::nanoseconds> out(0);
  for (const Device* const device : devices()) {
    const auto since = injector_.port_down_since(*device);
    if (!since) return std::nullopt;
    out = std::max(*out, *since);
  }
  return out;
}

// While the port is down, the peer is silent, although its TCP still acknowledges what was sent
// before, and answers probes.
std::chrono::milliseconds Wire::silent_for(int fd) {
  Wire& wire = *attached.load();
  const auto since = wire.cut_since(fd);
  if (!since) return net::kernel_socket_ops().silent_for(fd);
  return std::chrono::duration_cast<std::chrono::milliseconds>(wire.injector_.now() - *since);
}

std::uint32_t Wire::ordinal(int fd) {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = net::insist([&] { return connections_.try_emplace(fd); });
  if (is_new) it->second = {++begun_, cookie_of(fd)};
  return it->second.ordinal;
}

int Wire::connect(int fd, const sockaddr* address, socklen_t length) {
  attached.load()->forget(fd);
  return net::kernel_socket_ops().connect(fd, address, length);
}

int Wire::accept(int fd, sockaddr* address, socklen_t* length, int flags) {
  const int out = net::kernel_socket_ops().accept(fd, address, length, flags);
  if (out >= 0) attached.load()->forget(out);
  return out;
}

ssize_t Wire::send(int fd, const msghdr* message, int flags) {
  Wire& wire = *attached.load();
  if (wire.is_cut(fd)) return nothing_passes();
  return wire.send_some(fd, *message, flags);
}

ssize_t Wire::receive(int fd, msghdr* message, int flags) {
  Wire& wire = *attached.load();
  if (wire.is_cut(fd)) return nothing_passes();
  const auto n = net::kernel_socket_ops().receive(fd, message, flags);
  if (n > 0) {
    const int error = errno;
    (void)wire.ordinal(fd);
    errno = error;
  }
  return n;
}

// Sends the datagrams one by one. The result, which is the number of sent datagrams, includes the
// datagrams that a rule loses or delays.
int Wire::send_datagrams(int fd, mmsghdr* messages, unsigned count, int flags) {
  Injector& injector = attached.load()->injector_;
  unsigned done = 0;
  for (mmsghdr& message : std::span(messages, count)) {
    if (injector.takes_over(fd, message.msg_hdr)) {
      ++done;
      continue;
    }
    if (net::kernel_socket_ops().send_datagrams(fd, &message, 1, flags) != 1) {
      // The driver sends this datagram again in three cases. In the first, other datagrams were
      // sent before it, and this function returns only their number. In the second, the socket is
      // connected, and the driver tries again with the queue pair's unconnected socket. In the
      // third, the error is temporary. The second attempt to send the datagram must not be counted.
      const int error = errno;
      const bool is_connected = message.msg_hdr.msg_name == nullptr;
      const bool will_resend =
          done != 0 || is_connected || error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
      if (will_resend) injector.will_resend(sender_of(message.msg_hdr));
      errno = error;
      break;
    }
    ++done;
  }
  return done != 0 ? static_cast<int>(done) : -1;
}

// Receives datagrams. While the port is down, reads the datagrams that arrive and drops them.
int Wire::receive_datagrams(int fd, mmsghdr* messages, unsigned count, int flags) {
  // Maximum number of calls, which is sufficient to empty a full socket buffer.
  constexpr int kRounds = 1024;
  const auto receive = net::kernel_socket_ops().receive_datagrams;
  const int n = receive(fd, messages, count, flags);
  const int error = errno;
  if (!attached.load()->is_cut(fd)) {
    errno = error;
    return n;
  }
  for (int round = 1, again = n; round != kRounds && again > 0; ++round) {
    again = receive(fd, messages, count, flags);
  }
  return static_cast<int>(nothing_passes());
}

// Sends the message, but at most up to the octet that triggers a rule, so that the connection is
// reset after exactly this octet.
ssize_t Wire::send_some(int fd, const msghdr& message, int flags) {
  const std::span pieces(message.msg_iov, message.msg_iovlen);
  std::uint64_t wanted = 0;
  for (const iovec& piece : pieces) wanted += piece.iov_len;
  const auto connection = ordinal(fd);
  auto left = injector_.room(connection, wanted);
  std::vector<iovec> some;
  net::insist([&] { some.reserve(pieces.size()); });
  for (iovec piece : pieces) {
    if (left == 0) break;
    piece.iov_len = static_cast<std::size_t>(std::min<std::uint64_t>(piece.iov_len, left));
    left -= piece.iov_len;
    some.push_back(piece);
  }
  msghdr cut = message;
  cut.msg_iov = some.data();
  cut.msg_iovlen = some.size();
  const auto n = net::kernel_socket_ops().send(fd, &cut, flags);
  const int error = errno;
  if (n > 0 && injector_.passed(connection, static_cast<std::uint64_t>(n))) break_off(fd);
  errno = error;
  return n;
}

// Compares the cookies of the sockets, because a descriptor may have been reused for another
// socket, which must not be reset.
void Wire::reset(std::uint32_t connection, std::string_view device) {
  const auto connections = [this] {
    const std::lock_guard lock(mutex_);
    return connections_;
  }();
  for (const auto& [fd, known] : connections) {
    if (connection != 0 && known.ordinal != connection) continue;
    const Device* const its = device.empty() ? nullptr : device_of(fd);
    if (!device.empty() && (its == nullptr || its->spec().name != device)) continue;
    if (const auto socket = same_socket(fd, known.cookie)) break_off(socket.get());
  }
}

}  // namespace iwarp::rdma_core::fault
