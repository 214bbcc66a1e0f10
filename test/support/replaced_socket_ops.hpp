// SPDX-License-Identifier: Apache-2.0
// ReplacedSocketOps: other system calls for the driver, while the object lives.
#pragma once

#include <concepts>
#include <forward_list>

#include "iwarp/net/socket_ops.hpp"

namespace iwarp::test {

/// Replaces the system calls of all drivers, until it is destroyed.
class ReplacedSocketOps {
 public:
  /// `change` is given the table of the kernel's calls, and sets those to replace. The table stays
  /// until the process ends: a worker that has fetched it may still call through it when this
  /// object is gone.
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
