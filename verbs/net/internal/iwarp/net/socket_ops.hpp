// SPDX-License-Identifier: Apache-2.0
// SocketOps: the system calls of the driver that a network can make fail, in one table, so that
// tests can replace them and make the n-th call fail.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

namespace iwarp::net {

/// The calls, with the contracts of the system calls of those names: -1 and errno on failure.
struct SocketOps {
  int (*socket)(int domain, int type, int protocol);
  int (*connect)(int fd, const sockaddr* address, socklen_t length);
  int (*accept)(int fd, sockaddr* address, socklen_t* length, int flags);
  ssize_t (*send)(int fd, const msghdr* message, int flags);
  ssize_t (*receive)(int fd, msghdr* message, int flags);
  // As sendmmsg(), and as recvmmsg() without a timeout.
  int (*send_datagrams)(int fd, mmsghdr* messages, unsigned count, int flags);
  int (*receive_datagrams)(int fd, mmsghdr* messages, unsigned count, int flags);
  /// Whether send_datagrams() takes messages that the kernel cuts into datagrams (UDP_SEGMENT).
  bool cuts_messages = true;
};

/// Returns the kernel's calls.
const SocketOps& kernel_socket_ops();
/// Returns the table in use.
const SocketOps& socket_ops();
/// Replaces the table for the whole process; null: the kernel's calls. `ops` must outlive its use.
void replace_socket_ops(const SocketOps* ops);

}  // namespace iwarp::net
