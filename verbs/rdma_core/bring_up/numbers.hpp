// SPDX-License-Identifier: Apache-2.0
// Queue pair numbers by which peers connect without the CM:
//
//   QPN = counter (8 bits, the first 0) . TCP port (16 bits)
//
// The first number of a port binds it on all addresses that peers may name. It listens on an
// address once a queue pair with that address awaits a peer, so a program that never does has no
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
  /// Takes a free number. `at` returns where to bind a new port, and is only called if one is
  /// needed. Throws std::system_error if there is none.
  std::uint32_t take(const std::function<std::vector<OobAddress>()>& at);
  void release(std::uint32_t number);
  bool is_taken(std::uint32_t number) const;
  bool is_ours(std::uint16_t port) const { return find(port) != nullptr; }
  /// Makes the port of `number` listen on that address, unless it does already.
  std::error_code listen(std::uint32_t number, const OobAddress& at, const Listen& listen);

  static std::uint16_t port_of(std::uint32_t number) {
    return static_cast<std::uint16_t>(number & 0xFFFF);
  }

 private:
  static constexpr std::size_t kPerPort = 128;
  struct Place {
    OobAddress address;
    std::optional<net::BoundSocket> bound;  ///< until it listens
    std::unique_ptr<net::Listener> listener;
  };
  struct Port {
    std::uint16_t number = 0;
    std::vector<Place> places;
    std::bitset<kPerPort> taken;
    std::size_t next = 0;  ///< where to start looking for a free one
  };

  const Port* find(std::uint16_t port) const;
  Port& open(const std::vector<OobAddress>& at);

  std::deque<Port> ports_;
};

}  // namespace iwarp::rdma_core
