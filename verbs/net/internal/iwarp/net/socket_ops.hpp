// SPDX-License-Identifier: Apache-2.0
// SocketOps: a table of the driver's system calls that can fail because of the network. Tests
// replace the table to make the n-th call fail.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace iwarp::net {

/// The calls do the same as the system calls of similar names: they return -1 and set errno on
/// failure.
struct SocketOps {
  int (*socket)(int domain, int type, int protocol);
  int (*connect)(int fd, const sockaddr* address, socklen_t length);
  int (*accept)(int fd, sockaddr* address, socklen_t* length, int flags);
  ssize_t (*send)(int fd, const msghdr* message, int flags);
  ssize_t (*receive)(int fd, msghdr* message, int flags);
  // send_datagrams() does the same as sendmmsg(2). receive_datagrams() does the same as recvmmsg(2)
  // without a timeout.
  int (*send_datagrams)(int fd, mmsghdr* messages, unsigned count, int flags);
  int (*receive_datagrams)(int fd, mmsghdr* messages, unsigned count, int flags);
  /// Called when the socket begins to carry the data of the queue pair `qp_num`; must not throw.
  /// The kernel's table does nothing.
  void (*carries)(int fd, std::uint32_t qp_num);
  /// Returns how long the peer's TCP has been silent although it owes an answer. If it owes none,
  /// makes the kernel probe the peer, and returns 0.
  std::chrono::milliseconds (*silent_for)(int fd);
  /// Whether send_datagrams() takes messages that the kernel cuts into datagrams (UDP_SEGMENT).
  bool cuts_messages = true;
};

/// Returns the kernel's calls.
const SocketOps& kernel_socket_ops();
/// Returns the table in use.
const SocketOps& socket_ops();
/// Replaces the table for the whole process; null restores the kernel's calls. `ops` must stay
/// valid until it is replaced.
void replace_socket_ops(const SocketOps* ops);

}  // namespace iwarp::net
