// SPDX-License-Identifier: Apache-2.0
// The one port of the device: which addresses of this host it has, as LID and GIDs.
//
// Programs that bring queue pairs up without the CM exchange these, so they say where to connect:
//   LID     the low 16 bits of the port's IPv4 address
//   GID 0   as of an RNIC, the MAC address and zeros; ours is 02:00 and the IPv4 address
//   GID 1.. the addresses of the host, IPv4 mapped into IPv6
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace iwarp::rdma_core {

/// The table is no longer than this, however many addresses the host has.
inline constexpr int kMaxGids = 64;

struct Port {
  std::uint32_t address = 0;  ///< IPv4, a number of the host: the first that is not loopback
  unsigned mtu = 0;           ///< octets, of its interface
  std::vector<ibv_gid> gids;

  std::uint16_t lid() const { return static_cast<std::uint16_t>(address & 0xFFFF); }
};

/// As the interfaces of the host are now. Without any that is up: loopback.
Port look_at_port();

/// The IPv4 or IPv6 address that a GID of this layer stands for, as IPv6 (IPv4 mapped); nullopt: it
/// stands for none.
std::optional<ibv_gid> address_of(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
