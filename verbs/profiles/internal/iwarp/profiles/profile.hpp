// SPDX-License-Identifier: Apache-2.0
// Profile: what programs and scripts see of an RDMA card, and decide by: names, identifiers, the
// attributes of the device and of the port, and the order of the GID table. A profile is a JSON
// file. `iwarp info --record-device` writes one for a real card, and `iwarp run --like` shows the
// simulated device with the values of one.
//
//   const auto like = profiles::load("rxe");               // or the path of a file
//   if (!like) return complain(like.error());               // "card.json: port.max_mtu 9: ..."
//   strcpy(attr.fw_ver, (*like)->firmware.c_str());
//
// This folder checks only that the values are possible. rdma_core/device limits them to what the
// stack offers.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::profiles {

/// What a GID of the table is derived from.
enum class GidSource : std::uint8_t {
  kMac,        ///< the MAC address followed by zeros; an RNIC has one such GID, at index 0
  kIpv4AsMac,  ///< 02:00 and the IPv4 address as a MAC address, from which peers get the address
  kLinkLocal,  ///< the IPv6 link-local address that is derived from the MAC address, on all cards
  kAssignedLinkLocal,  ///< the same, but only if the interface has this address
  kIpv4,
  kIpv6,
};

/// The IP header in RoCE's frames. An RNIC has no such types.
enum class GidType : std::uint8_t { kNone, kV1, kV2 };

/// One row of the pattern by which a card fills its GID table, for each network interface.
struct GidRow {
  GidSource source;
  GidType type;

  friend bool operator==(const GidRow&, const GidRow&) = default;
};

/// The values are those of libibverbs and sysfs. A value that the file omits is that of the
/// simulated device itself.
struct Profile {
  std::string name;         ///< "rxe" for rxe.json
  std::string device_name;  ///< "rxe{n}": {n} is a number, {interface} a network interface
  int node_type = 0;        ///< ibv_node_type
  int transport = 0;        ///< ibv_transport_type
  int uverbs_abi = 1;       ///< ABI version of the driver
  bool is_virtual = true;   ///< whether the card has no driver, and thus no hardware
  std::optional<std::string> firmware;
  std::optional<std::string> description;  ///< sysfs node_desc
  std::optional<std::string> type;         ///< sysfs hca_type
  std::optional<std::string> board;        ///< sysfs board_id
  std::optional<std::string> modalias;     ///< of the parent, "pci:..." for a card
  std::map<std::string, std::uint64_t, std::less<>> attributes;  ///< members of ibv_device_attr
  std::map<std::string, std::uint64_t, std::less<>> port;        ///< members of ibv_port_attr
  std::vector<GidRow> gids;

  /// Returns whether programs see an RNIC and not a RoCE adapter.
  bool is_rnic() const;
};

/// The names of the profiles that are built in.
inline constexpr std::array<std::string_view, 6> kNames{"iwarp", "roce",     "rxe",
                                                        "siw",   "connectx", "mana"};
/// Returns the profile with this name, or else the one in the file with this path. Returns an error
/// of one line if there is no such profile, or if the file is not a profile.
std::expected<std::shared_ptr<const Profile>, std::string> load(std::string_view name_or_path);
/// Parses the contents of a profile's file. Returns an error of one line that names the value.
std::expected<Profile, std::string> parse(std::string_view json);

}  // namespace iwarp::profiles
