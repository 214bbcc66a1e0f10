// SPDX-License-Identifier: Apache-2.0
// Datagrams of UD queue pairs between the driver and the kernel: which queue pair sends one, and
// the delayed ones, which are sent later, unchanged and to their original destination. No clock and
// no plan: time is an argument, and the caller decides what to delay.
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

/// Returns the number of the queue pair that sends it, or 0 if it is not a datagram of a queue
/// pair.
std::uint32_t sender_of(const msghdr& message);

/// Returns what identifies the socket among all that its descriptor ever stands for; 0 if unknown.
std::uint64_t cookie_of(int fd);
/// Duplicates `fd` if it still stands for the socket with that cookie; otherwise returns no
/// descriptor.
net::UniqueFd same_socket(int fd, std::uint64_t cookie);

class HeldDatagrams {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr std::size_t kMax = 4096;  ///< for the whole process; 17 MB at most

  /// Stores a copy until `due`. Returns false if there are kMax already.
  bool keep(int fd, const msghdr& message, Time due);
  /// Drops the datagrams of a queue pair that was destroyed. None is sent after this returns.
  void forget(std::uint32_t qp_num);
  /// Sends the datagrams that are due, in order of time, or drops them if `lost`. Returns when the
  /// next is due.
  std::optional<Time> release(Time now, bool lost);

 private:
  struct Held {
    std::uint32_t qp_num;
    int fd;
    std::uint64_t cookie;
    std::vector<std::byte> to;       ///< destination socket address
    std::vector<std::byte> control;  ///< names the source address
    std::vector<std::byte> octets;
  };
  static bool send(const Held& held);

  std::mutex mutex_;  ///< leaf lock
  std::multimap<Time, Held> held_;
};

}  // namespace iwarp::rdma_core::fault
