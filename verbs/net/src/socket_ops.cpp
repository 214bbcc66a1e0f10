// SPDX-License-Identifier: Apache-2.0
// The table of system calls and its replacement.
#include "socket_ops.hpp"

#include <atomic>

namespace iwarp::net {
namespace {

std::atomic<const SocketOps*> replaced{nullptr};

// The calls for one piece are the cheaper ones: the kernel fetches no lists from the process.
ssize_t send_message(int fd, const msghdr* message, int flags) {
  if (message->msg_iovlen != 1) return ::sendmsg(fd, message, flags);
  return ::send(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags);
}

ssize_t receive_message(int fd, msghdr* message, int flags) {
  if (message->msg_iovlen != 1) return ::recvmsg(fd, message, flags);
  return ::recv(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags);
}

}  // namespace

const SocketOps& kernel_socket_ops() {
  static constexpr SocketOps kKernel{.socket = ::socket,
                                     .connect = ::connect,
                                     .accept = ::accept4,
                                     .send = send_message,
                                     .receive = receive_message};
  return kKernel;
}

const SocketOps& socket_ops() {
  const auto* ops = replaced.load(std::memory_order_acquire);
  return ops != nullptr ? *ops : kernel_socket_ops();
}

void replace_socket_ops(const SocketOps* ops) { replaced.store(ops, std::memory_order_release); }

}  // namespace iwarp::net
