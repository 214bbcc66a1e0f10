// SPDX-License-Identifier: Apache-2.0
// The table of system calls of the kernel, and the pointer to the table that replaces it in tests.
// A single datagram takes the cheaper system call.
#include "iwarp/net/socket_ops.hpp"

#include <atomic>

#include "iwarp/net/carrier.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

std::atomic<const SocketOps*> replaced{nullptr};

// For a single piece, send(2) is cheaper than sendmsg(2), and for a single datagram, sendmsg(2) is
// cheaper than sendmmsg(2), because the kernel need not copy a list from the process.
ssize_t send_message(int fd, const msghdr* message, int flags) {
  if (message->msg_iovlen != 1) return ::sendmsg(fd, message, flags);
  return ::send(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags);
}

ssize_t receive_message(int fd, msghdr* message, int flags) {
  if (message->msg_iovlen != 1) return ::recvmsg(fd, message, flags);
  return ::recv(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags);
}

// Converts the result of sendmsg(2) or recvmsg(2) to the result of sendmmsg(2) or recvmmsg(2) for
// one message.
int one_datagram(ssize_t octets, mmsghdr& message) {
  if (octets < 0) return -1;
  message.msg_len = static_cast<unsigned>(octets);
  return 1;
}

int send_datagrams(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (count != 1) return ::sendmmsg(fd, messages, count, flags);
  const msghdr& only = messages->msg_hdr;
  const bool is_plain = only.msg_name == nullptr && only.msg_controllen == 0;
  return one_datagram(is_plain ? send_message(fd, &only, flags) : ::sendmsg(fd, &only, flags),
                      *messages);
}

int receive_datagrams(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (count != 1) return ::recvmmsg(fd, messages, count, flags, nullptr);
  return one_datagram(::recvmsg(fd, &messages->msg_hdr, flags), *messages);
}

}  // namespace

const SocketOps& kernel_socket_ops() {
  static constexpr SocketOps kKernel{.socket = ::socket,
                                     .connect = ::connect,
                                     .accept = ::accept4,
                                     .send = send_message,
                                     .receive = receive_message,
                                     .send_datagrams = send_datagrams,
                                     .receive_datagrams = receive_datagrams,
                                     .carries = [](int, std::uint32_t) {},
                                     .silent_for = silent_for};
  return kKernel;
}

const SocketOps& socket_ops() {
  const auto* ops = replaced.load(std::memory_order_acquire);
  return ops != nullptr ? *ops : kernel_socket_ops();
}

ssize_t CarrierSocket::send(std::span<const std::byte> octets) const {
  iovec piece{.iov_base = const_cast<std::byte*>(octets.data()), .iov_len = octets.size()};
  const msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
  return socket_ops().send(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t CarrierSocket::receive(std::span<std::byte> octets) const {
  iovec piece{.iov_base = octets.data(), .iov_len = octets.size()};
  msghdr message{.msg_iov = &piece, .msg_iovlen = 1};
  return socket_ops().receive(fd_, &message, MSG_DONTWAIT);
}

void replace_socket_ops(const SocketOps* ops) { replaced.store(ops, std::memory_order_release); }

}  // namespace iwarp::net
