// SPDX-License-Identifier: Apache-2.0
// Handles datagrams that the driver of a UD queue pair passes to the kernel. sender_of() returns
// which queue pair sends a datagram. HeldDatagrams stores delayed datagrams, and sends them later,
// unchanged, to their original destination. The caller decides which datagrams to delay, and passes
// the time as an argument.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::fault {

/// Returns the number of the queue pair that sends `message`, or 0 if `message` is not a datagram
/// of a queue pair.
std::uint32_t sender_of(const msghdr& message);

/// Returns the kernel's cookie of the socket (SO_COOKIE), which identifies the socket even after
/// its descriptor was closed and reused. Returns 0 if the kernel does not report a cookie.
std::uint64_t cookie_of(int fd);
/// Returns a duplicate of `fd` if `fd` still refers to the socket with this cookie. Otherwise
/// returns no descriptor.
net::UniqueFd same_socket(int fd, std::uint64_t cookie);

class HeldDatagrams {
 public:
  using Time = std::chrono::nanoseconds;
  /// The maximum number of delayed datagrams in the whole process. They need at most 17 MB of
  /// memory.
  static constexpr std::size_t kMax = 4096;

  /// Stores a copy of the datagram until the time `due`. Returns false if kMax datagrams are
  /// already stored.
  bool keep(int fd, const msghdr& message, Time due);
  /// Drops the delayed datagrams of a queue pair that was destroyed. None of these is sent after
  /// this function has returned.
  void forget(std::uint32_t qp_num);
  /// Sends the datagrams that are due, in the order in which they became due, and drops those of
  /// the queue pairs `cut`. Returns the time at which the next datagram is due.
  std::optional<Time> release(Time now, const std::set<std::uint32_t>& cut);

 private:
  struct Held {
    std::uint32_t qp_num;
    int fd;
    std::uint64_t cookie;
    std::vector<std::byte> to;       ///< the socket address of the destination
    std::vector<std::byte> control;  ///< the control message that sets the source address
    std::vector<std::byte> octets;
  };
  static bool send(const Held& held);

  std::mutex mutex_;  ///< no other lock is taken while this mutex is locked
  std::multimap<Time, Held> held_;
};

}  // namespace iwarp::rdma_core::fault
