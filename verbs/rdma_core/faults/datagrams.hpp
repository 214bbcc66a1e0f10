// SPDX-License-Identifier: Apache-2.0
// Datagrams of UD queue pairs between the driver and the kernel. sender_of() tells which queue pair
// sends a datagram, and HeldDatagrams stores delayed datagrams and sends them later, unchanged and
// to their original destination. The code uses no clock and no plan: the time is an argument, and
// the caller decides which datagrams to delay.
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

/// Returns the number of the queue pair that sends `message`, or 0 if this is not a datagram of a
/// queue pair.
std::uint32_t sender_of(const msghdr& message);

/// Returns a number that identifies the socket even if its descriptor is closed and reused. Returns
/// 0 if the kernel does not report one.
std::uint64_t cookie_of(int fd);
/// Duplicates `fd` if it still stands for the socket with that cookie; otherwise returns no
/// descriptor.
net::UniqueFd same_socket(int fd, std::uint64_t cookie);

class HeldDatagrams {
 public:
  using Time = std::chrono::nanoseconds;
  /// Number of datagrams in the whole process; they need at most 17 MB.
  static constexpr std::size_t kMax = 4096;

  /// Stores a copy of the datagram until `due`. Returns false if kMax datagrams are stored already.
  bool keep(int fd, const msghdr& message, Time due);
  /// Drops the datagrams of a queue pair that was destroyed. None of them is sent after this
  /// function has returned.
  void forget(std::uint32_t qp_num);
  /// Sends the datagrams that are due in the order of their times, or drops them if `lost` is set.
  /// Returns when the next datagram is due.
  std::optional<Time> release(Time now, bool lost);

 private:
  struct Held {
    std::uint32_t qp_num;
    int fd;
    std::uint64_t cookie;
    std::vector<std::byte> to;       ///< destination socket address
    std::vector<std::byte> control;  ///< control message that sets the source address
    std::vector<std::byte> octets;
  };
  static bool send(const Held& held);

  std::mutex mutex_;  ///< leaf lock
  std::multimap<Time, Held> held_;
};

}  // namespace iwarp::rdma_core::fault
