// SPDX-License-Identifier: Apache-2.0
// ReplacedSocketOps: replaces system calls of the driver during the object's lifetime.
#pragma once

#include <concepts>
#include <forward_list>

#include "iwarp/net/socket_ops.hpp"

namespace iwarp::test {

/// Replaces the system calls of all drivers until the object is destroyed.
class ReplacedSocketOps {
 public:
  /// `change` receives the table of the kernel's calls and replaces entries of it. The table lives
  /// until the process ends, because a worker that has fetched it may still call through it after
  /// this object is destroyed.
  explicit ReplacedSocketOps(std::invocable<net::SocketOps&> auto change) {
    static auto* const kept = new std::forward_list<net::SocketOps>;
    change(kept->emplace_front(net::kernel_socket_ops()));
    net::replace_socket_ops(&kept->front());
  }
  ~ReplacedSocketOps() { net::replace_socket_ops(nullptr); }
  ReplacedSocketOps(const ReplacedSocketOps&) = delete;
  ReplacedSocketOps& operator=(const ReplacedSocketOps&) = delete;
};

}  // namespace iwarp::test
