// SPDX-License-Identifier: Apache-2.0
// Datagrams of queue pairs (UD) between the driver and the kernel: whose one is, and those that are
// kept back to leave later, whole and to where they were going. No clock and no plan: time is an
// argument, and what is to be kept is decided elsewhere.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::fault {

/// The number of the queue pair that sends it; 0: it is no datagram of a queue pair.
std::uint32_t sender_of(const msghdr& message);

/// What tells a socket from others that its descriptor has stood for, or will; 0: unknown.
std::uint64_t cookie_of(int fd);
/// Another descriptor for the socket with that cookie; none if `fd` is no longer one for it.
net::UniqueFd same_socket(int fd, std::uint64_t cookie);

class HeldDatagrams {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr std::size_t kMax = 4096;  ///< of the process; 17 MB at most

  /// Keeps a copy until `due`. False: there are kMax already.
  bool keep(int fd, const msghdr& message, Time due);
  /// The queue pair is gone: returns when nothing of it is sent any more.
  void forget(std::uint32_t qp_num);
  /// What is due leaves, in order of time, or is `lost`; when the next is.
  std::optional<Time> release(Time now, bool lost);

 private:
  struct Held {
    std::uint32_t qp_num;
    int fd;
    std::uint64_t cookie;
    std::vector<std::byte> to;       ///< an address of a socket
    std::vector<std::byte> control;  ///< where it leaves from
    std::vector<std::byte> octets;
  };
  static bool send(const Held& held);

  std::mutex mutex_;  ///< a leaf
  std::multimap<Time, Held> held_;
};

}  // namespace iwarp::rdma_core::fault
