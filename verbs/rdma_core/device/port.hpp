// SPDX-License-Identifier: Apache-2.0
// The one port of the device: which addresses of this host it has, as LID and GIDs.
//
// Programs that bring queue pairs up without the CM exchange these, so they say where to connect:
//   as iWARP  LID     the low 16 bits of the port's IPv4 address
//             GID 0   as of an RNIC, the MAC address and zeros; ours is 02:00 and the IPv4 address
//             GID 1.. the addresses of the host, IPv4 mapped into IPv6
//   as RoCE   GID 0.. the addresses of the host, in the order that the kernel gives them; no LID.
//             Those of loopback only where there are no others, or where IWARP_LOOPBACK=on
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/settings.hpp"

namespace iwarp::rdma_core {

/// The interface whose addresses no other host reaches.
inline constexpr const char* kLoopback = "lo";

/// The table is no longer than this, however many addresses the host has.
inline constexpr int kMaxGids = 64;

struct Port {
  Persona persona = Persona::kIwarp;
  std::uint32_t address = 0;         ///< IPv4, a number of the host: the first that is not loopback
  unsigned mtu = 0;                  ///< octets, of its interface
  unsigned mbit = 0;                 ///< a second, of the same; 1000 where it does not say
  int error = 0;                     ///< why the interfaces could not be looked at, an errno
  std::string interface;             ///< its name
  std::uint64_t guid = 0;            ///< in network order
  std::vector<ibv_gid> gids;         ///< zeros where there is none
  std::vector<unsigned> interfaces;  ///< the index of that of each GID; 0: of none in particular
  std::vector<unsigned> multicast;   ///< those that can do multicast

  std::uint16_t lid() const {
    return persona == Persona::kRoce ? 0 : static_cast<std::uint16_t>(address & 0xFFFF);
  }
};

/// An Ethernet speed in the terms of InfiniBand, as the kernel puts it.
struct LinkSpeed {
  unsigned mbit;       ///< up to so many
  std::uint8_t width;  ///< active_width: 1 is one lane, 2 is four
  std::uint8_t speed;  ///< active_speed, of each lane
};
const LinkSpeed& link_speed(unsigned mbit);

/// As the interfaces of the host are now. Without any that is up: loopback. `list_loopback`: see
/// Settings.
Port look_at_port(Persona persona, bool list_loopback = false);
/// Where a group of this family is joined: on all interfaces of GIDs of the family that can do
/// multicast, each once; without any, on that of the first GID.
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4);

/// As what this process shows itself, with the GIDs where it has seen them before. If those of
/// loopback were the only ones once, they remain listed.
Port look_at_port();

/// The IPv4 or IPv6 address that a GID of this layer stands for, as IPv6 (IPv4 mapped); nullopt: it
/// stands for none.
std::optional<ibv_gid> address_of(const ibv_gid& gid);

}  // namespace iwarp::rdma_core
