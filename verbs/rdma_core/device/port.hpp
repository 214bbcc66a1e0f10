// SPDX-License-Identifier: Apache-2.0
// The one port of the device: the addresses of this host, as LID and GIDs.
//
// Programs that bring queue pairs up without the CM exchange these, so they must say where to
// connect:
//   as iWARP  LID     the low 16 bits of the port's IPv4 address
//             GID 0   a MAC address and zeros, like an RNIC's; the MAC is 02:00 and the IPv4
//             address GID 1.. the addresses of the host, IPv4 mapped into IPv6
//   as RoCE   GID 0.. the addresses of the host in the kernel's order; no LID. Loopback addresses
//             are listed only if there are no others, or with IWARP_LOOPBACK=on
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
  unsigned mtu = 0;                  ///< of `interface`, in octets
  unsigned mbit = 0;                 ///< speed of `interface` in Mbit/s; 1000 if it is unknown
  int error = 0;                     ///< errno if the interfaces could not be listed, else 0
  std::string interface;             ///< name of the port's interface
  std::uint64_t guid = 0;            ///< in network order
  std::vector<ibv_gid> gids;         ///< zeros in unused entries
  std::vector<unsigned> interfaces;  ///< for each GID the index of its interface; 0: none
  std::vector<unsigned> multicast;   ///< indices of the interfaces that support multicast

  std::uint16_t lid() const {
    return persona == Persona::kRoce ? 0 : static_cast<std::uint16_t>(address & 0xFFFF);
  }
};

/// An Ethernet speed in InfiniBand's terms. The mapping is the kernel's.
struct LinkSpeed {
  unsigned mbit;       ///< highest speed of this row, in Mbit/s
  std::uint8_t width;  ///< active_width: 1 is one lane, 2 is four
  std::uint8_t speed;  ///< active_speed, of each lane
};
const LinkSpeed& link_speed(unsigned mbit);

/// Returns the port from the current interfaces of the host. If none of them is up, loopback is its
/// interface. `list_loopback`: see Settings.
Port look_at_port(Persona persona, bool list_loopback = false);
/// Returns the interfaces on which to join a multicast group of the given family: all that have a
/// GID of the family and support multicast, each once. If there is none, returns that of the first
/// GID.
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4);

/// Returns the port as this process presents it. GIDs that the process has seen before keep their
/// indices. If loopback addresses were once the only ones, they remain listed.
Port look_at_port();

/// Returns the address that a GID of this layer stands for, with IPv4 mapped into IPv6, or nullopt
/// if it stands for none.
std::optional<ibv_gid> address_of(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
