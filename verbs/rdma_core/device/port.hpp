// SPDX-License-Identifier: Apache-2.0
// Port: the only port of a device. Its LID and its GIDs are derived from the addresses of this
// host.
//
// Programs that connect queue pairs without the CM exchange the LID and the GIDs. So the LID and
// the GIDs must contain the address to which the peer connects:
//   RNIC  LID     the low 16 bits of the port's IPv4 address, unless the profile has a LID
//         GID 0   a MAC address followed by zeros, as with a hardware RNIC; unless the profile
//                 is that of a card, the MAC address consists of 02:00 and the IPv4 address
//         GID 1.. the addresses of the host, as IPv6 or IPv4-mapped IPv6 addresses
//   RoCE  LID     none
//         GID 0.. for each interface, the GIDs that the profile lists; loopback addresses are
//                 listed only if there are no others, or with IWARP_LOOPBACK=on
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/spec.hpp"

namespace iwarp::rdma_core {

/// The loopback interface, whose addresses no other host can reach.
inline constexpr const char* kLoopback = "lo";

/// The maximum number of entries in the GID table. Further addresses of the host are not listed.
inline constexpr int kMaxGids = 64;

/// Returns whether two addresses or GIDs have the same octets.
bool same_ip(const ibv_gid& a, const ibv_gid& b);

/// An entry of the GID table. All bytes of an unused entry are 0.
struct PortGid {
  ibv_gid gid{};
  /// The IP address that the GID represents, as an IPv6 or IPv4-mapped IPv6 address. It differs
  /// from `gid` for the GID of an RNIC that is its MAC address, and for a link-local GID that is no
  /// address of its interface.
  ibv_gid ip{};
  unsigned interface = 0;  ///< index of the network interface, or 0
  GidType type = GidType::kNone;

  bool is_free() const;
};

struct Port {
  Persona persona = Persona::kIwarp;
  std::uint32_t address = 0;  ///< first IPv4 address that is not loopback, in host order
  unsigned mtu = 0;           ///< MTU of `interface` in octets
  unsigned mbit = 0;          ///< speed of `interface` in Mbit/s; 1000 if it is unknown
  int error = 0;              ///< errno if the interfaces could not be listed, else 0
  std::string interface;      ///< name of the network interface of the port
  std::uint64_t guid = 0;     ///< GUID of the port, in network order
  std::uint16_t lid = 0;
  std::vector<PortGid> gids;        ///< the GID table
  std::vector<unsigned> multicast;  ///< indices of the interfaces that support multicast
  /// Indices of the interfaces that carry the port: those with an IP address, except loopback.
  std::vector<unsigned> carriers;
  std::vector<unsigned> running;  ///< indices of the interfaces that are up and have a carrier

  /// Returns whether the port is active: at least one of its carriers is running, or it has none. A
  /// host with only loopback has a port that reaches all its peers.
  bool is_up() const;
};

/// An Ethernet speed, and the InfiniBand width and speed that represent it. The mapping is the same
/// as in the kernel.
struct LinkSpeed {
  unsigned mbit;       ///< highest Ethernet speed of this row, in Mbit/s
  std::uint8_t width;  ///< active_width: 1 means one lane, 2 means four lanes
  std::uint8_t speed;  ///< active_speed of each lane
};
const LinkSpeed& link_speed(unsigned mbit);

/// Returns the MTU of RDMA packets on the port.
ibv_mtu active_mtu(const Port& port);

/// Returns a port that is derived from the current network interfaces of the host. If none of the
/// interfaces of the device is up, the port's interface is loopback.
Port look_at_port(const DeviceSpec& device);
/// Returns the names of the interfaces that have an IP address, except loopback. If there are none,
/// returns loopback.
std::vector<std::string> interfaces_with_addresses();
/// Returns the indices of the interfaces on which a queue pair joins an IPv4 or IPv6 multicast
/// group. These are all interfaces that have a GID of this family and support multicast. If there
/// are none, returns the interface of the first GID.
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4);

/// Returns the IP address that a GID of `own` or of a peer represents, as an IPv6 or IPv4-mapped
/// IPv6 address. Returns nullopt if the GID represents no address.
std::optional<ibv_gid> address_of(const ibv_gid& gid, const Port& own);

/// Returns the attributes of a device, except its GUIDs and its firmware.
ibv_device_attr device_attributes(const Profile& profile);
/// Returns the attributes of a port with the GID table and the interface of `port`.
ibv_port_attr port_attributes(const Profile& profile, const Port& port);
/// Returns the version of the firmware that the device reports.
const char* firmware(const Profile& profile);

}  // namespace iwarp::rdma_core
