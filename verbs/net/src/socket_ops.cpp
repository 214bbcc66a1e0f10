// SPDX-License-Identifier: Apache-2.0
// The table of system calls and its replacement.
#include "socket_ops.hpp"

#include <atomic>

namespace iwarp::net {
namespace {

std::atomic<const SocketOps*> replaced{nullptr};

}  // namespace

const SocketOps& kernel_socket_ops() {
  static constexpr SocketOps kKernel{.socket = ::socket,
                                     .connect = ::connect,
                                     .accept = ::accept4,
                                     .send = ::sendmsg,
                                     .receive = ::recvmsg};
  return kKernel;
}

const SocketOps& socket_ops() {
  const auto* ops = replaced.load(std::memory_order_acquire);
  return ops != nullptr ? *ops : kernel_socket_ops();
}

void replace_socket_ops(const SocketOps* ops) { replaced.store(ops, std::memory_order_release); }

}  // namespace iwarp::net
