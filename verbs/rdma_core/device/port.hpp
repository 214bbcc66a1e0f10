// SPDX-License-Identifier: Apache-2.0
// Port: the only port of the device. Its LID and GIDs are made of the addresses of this host.
//
// Programs that bring queue pairs up without the CM exchange the LID and GIDs, so these must
// contain the address to which the peer connects:
//   as iWARP  LID     the low 16 bits of the port's IPv4 address
//             GID 0   a MAC address and zeros, as with an RNIC; the MAC address is 02:00 followed
//                     by the IPv4 address
//             GID 1.. the addresses of the host, IPv4 mapped into IPv6
//   as RoCE   GID 0.. the addresses of the host in the kernel's order; there is no LID. Loopback
//                     addresses are listed only if there are no others, or with IWARP_LOOPBACK=on
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
  std::uint32_t address = 0;         ///< first IPv4 address that is not loopback, in host order
  unsigned mtu = 0;                  ///< MTU of `interface` in octets
  unsigned mbit = 0;                 ///< speed of `interface` in Mbit/s; 1000 if it is unknown
  int error = 0;                     ///< errno if the interfaces could not be listed, else 0
  std::string interface;             ///< name of the port's interface
  std::uint64_t guid = 0;            ///< GUID of the port, in network order
  std::vector<ibv_gid> gids;         ///< the GID table; unused entries are zeros
  std::vector<unsigned> interfaces;  ///< the index of the interface of each GID; 0: it has none
  std::vector<unsigned> multicast;   ///< indices of the interfaces that support multicast

  std::uint16_t lid() const {
    return persona == Persona::kRoce ? 0 : static_cast<std::uint16_t>(address & 0xFFFF);
  }
};

/// An Ethernet speed as a width and a speed of InfiniBand. The mapping is the same as in the
/// kernel.
struct LinkSpeed {
  unsigned mbit;       ///< highest speed of this row, in Mbit/s
  std::uint8_t width;  ///< active_width: 1 means one lane, 2 means four lanes
  std::uint8_t speed;  ///< active_speed of each lane
};
const LinkSpeed& link_speed(unsigned mbit);

/// Returns the port as the current interfaces of the host determine it. If none of them is up, the
/// port's interface is loopback. `list_loopback` is IWARP_LOOPBACK, see Settings.
Port look_at_port(Persona persona, bool list_loopback = false);
/// Returns the interfaces on which to join a multicast group of the given family. These are all
/// interfaces that have a GID of the family and support multicast. If there are none, returns the
/// interface of the first GID.
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4);

/// Returns the port as this process presents it. GIDs that the process has seen before keep their
/// indices. If loopback addresses were once the only ones, they remain listed.
Port look_at_port();

/// Returns the address for which a GID of this library stands, with IPv4 mapped into IPv6. Returns
/// nullopt if the GID stands for no address.
std::optional<ibv_gid> address_of(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
