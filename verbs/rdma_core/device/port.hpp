// SPDX-License-Identifier: Apache-2.0
// Port: the only port of the device. Its LID and its GIDs are derived from the addresses of this
// host.
//
// Programs that connect queue pairs without the CM exchange the LID and the GIDs. So the LID and
// the GIDs must contain the address to which the peer connects:
//   RNIC  LID     the low 16 bits of the port's IPv4 address
//         GID 0   a MAC address followed by zeros, as with a hardware RNIC; the MAC address
//                 consists of 02:00 and the IPv4 address
//         GID 1.. the addresses of the host, as IPv6 or IPv4-mapped IPv6 addresses
//   RoCE  LID     none
//         GID 0.. the addresses of the host in the kernel's order; loopback addresses are listed
//                 only if there are no others, or with IWARP_LOOPBACK=on
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/settings.hpp"

namespace iwarp::rdma_core {

/// The loopback interface, whose addresses no other host can reach.
inline constexpr const char* kLoopback = "lo";

/// The maximum number of entries in the GID table. Further addresses of the host are not listed.
inline constexpr int kMaxGids = 64;

struct Port {
  Persona persona = Persona::kIwarp;
  std::uint32_t address = 0;  ///< first IPv4 address that is not loopback, in host order
  unsigned mtu = 0;           ///< MTU of `interface` in octets
  unsigned mbit = 0;          ///< speed of `interface` in Mbit/s; 1000 if it is unknown
  int error = 0;              ///< errno if the interfaces could not be listed, else 0
  std::string interface;      ///< name of the network interface of the port
  std::uint64_t guid = 0;     ///< GUID of the port, in network order
  std::vector<ibv_gid> gids;  ///< the GID table; unused entries are zeros
  /// For each GID, the index of its network interface, or 0 if it has none.
  std::vector<unsigned> interfaces;
  std::vector<unsigned> multicast;  ///< indices of the interfaces that support multicast
  /// Indices of the interfaces that carry the port: those with an IP address, except loopback.
  std::vector<unsigned> carriers;
  std::vector<unsigned> running;  ///< indices of the interfaces that are up and have a carrier

  /// Returns whether the port is active: at least one of its carriers is running, or it has none. A
  /// host with only loopback has a port that reaches all its peers.
  bool is_up() const;

  std::uint16_t lid() const {
    return persona == Persona::kRoce ? 0 : static_cast<std::uint16_t>(address & 0xFFFF);
  }
};

/// An Ethernet speed, and the InfiniBand width and speed that represent it. The mapping is the same
/// as in the kernel.
struct LinkSpeed {
  unsigned mbit;       ///< highest Ethernet speed of this row, in Mbit/s
  std::uint8_t width;  ///< active_width: 1 means one lane, 2 means four lanes
  std::uint8_t speed;  ///< active_speed of each lane
};
const LinkSpeed& link_speed(unsigned mbit);

/// Returns a port that is derived from the current network interfaces of the host. If no interface
/// is up, the port's interface is loopback. `list_loopback` is the setting IWARP_LOOPBACK.
Port look_at_port(Persona persona, bool list_loopback = false);
/// Returns the indices of the interfaces on which a queue pair joins an IPv4 or IPv6 multicast
/// group. These are all interfaces that have a GID of this family and support multicast. If there
/// are none, returns the interface of the first GID.
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4);

/// Returns the port that programs see in this process. GIDs that an earlier call has returned keep
/// their indices, and interfaces that carried the port in an earlier call still do, even if they
/// have lost their addresses. If an earlier call has found a port without carriers, later calls
/// list loopback addresses, too.
Port look_at_port();

/// Returns the IP address that a GID of this library represents, as an IPv6 or IPv4-mapped IPv6
/// address. Returns nullopt if the GID represents no address.
std::optional<ibv_gid> address_of(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
