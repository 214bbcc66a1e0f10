// SPDX-License-Identifier: Apache-2.0
// Numbers of queue pairs under which peers find them without the CM:
//
//   QPN = counter (8 bits, the first 0) . TCP port (16 bits)
//
// A port is bound, on all addresses that peers may name, with the first number of it, and listens
// on an address when a queue pair with that address awaits a peer: a program that never does has
// no open port. A number comes again as late as possible.
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
  /// `at`: where a new port is bound, asked only when there has to be one. Throws std::system_error
  /// when there is none.
  std::uint32_t take(const std::function<std::vector<OobAddress>()>& at);
  void release(std::uint32_t number);
  bool is_taken(std::uint32_t number) const;
  bool is_ours(std::uint16_t port) const { return find(port) != nullptr; }
  /// The port of `number` listens there from now on, if it does not yet.
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
    std::size_t next = 0;  ///< from here on a free one is looked for
  };

  const Port* find(std::uint16_t port) const;
  Port& open(const std::vector<OobAddress>& at);

  std::deque<Port> ports_;
};

}  // namespace iwarp::rdma_core
