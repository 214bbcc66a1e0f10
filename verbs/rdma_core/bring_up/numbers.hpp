// SPDX-License-Identifier: Apache-2.0
// QpNumbers: assigns queue pair numbers. Each number contains the TCP port to which a peer connects
// without the CM:
//
//   QPN = counter (8 bits, of which the highest is 0) . TCP port (16 bits)
//
// When a queue pair number with a new port is assigned, a socket is bound to that port on each
// address that peers may use. A socket starts to listen as soon as a queue pair that uses its
// address waits for a peer. So if no queue pair of a program waits for a peer, the program has no
// open port. Numbers are reused as late as possible.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/peer_address.hpp"
#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/connection_manager.hpp"

namespace iwarp::rdma_core {

class QpNumbers {
 public:
  using Listen = std::function<std::expected<std::unique_ptr<net::Listener>, std::error_code>(
      net::BoundSocket&&)>;
  /// Returns a free number and marks it as taken. If a new port is needed, calls `at`, which
  /// returns the addresses on which the port is bound. Throws std::system_error if no port is free.
  std::uint32_t take(const std::function<std::vector<OobAddress>()>& at);
  void release(std::uint32_t number);
  bool is_taken(std::uint32_t number) const;
  bool is_own(std::uint16_t port) const { return find(port) != nullptr; }
  /// Listens at the address `at` on the port of `number`, unless a socket already listens there.
  std::error_code listen(std::uint32_t number, const OobAddress& at, const Listen& listen);

  static std::uint16_t port_of(std::uint32_t number) {
    return static_cast<std::uint16_t>(number & 0xFFFF);
  }

 private:
  static constexpr std::size_t kPerPort = 128;
  struct BoundAddress {
    OobAddress address;
    /// The bound socket, or empty once `listener` has been made from it.
    std::optional<net::BoundSocket> bound;
    std::unique_ptr<net::Listener> listener;
  };
  struct Port {
    std::uint16_t number = 0;
    std::vector<BoundAddress> places;
    std::bitset<kPerPort> taken;
    /// The counter value at which the search for a free number starts.
    std::size_t next = 0;
  };

  const Port* find(std::uint16_t port) const;
  Port& open(const std::vector<OobAddress>& at);

  std::deque<Port> ports_;
};

}  // namespace iwarp::rdma_core
