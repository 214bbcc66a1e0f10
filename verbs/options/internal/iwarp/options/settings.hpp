// SPDX-License-Identifier: Apache-2.0
// Settings: the values of the options and environment variables, for one command or for the process
// of a program under `iwarp run`. The rows of the table of options (options.hpp) define which
// option sets which member. The initial values of the members are the defaults of the commands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/options/adversary.hpp"
#include "iwarp/profiles/profile.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::options {

/// The peers to which a program may connect a queue pair without rdma_cm (as ibv_rc_pingpong does,
/// and perftest without -R): none, programs on this host, or programs on any host.
enum class OutOfBandPeers : std::uint8_t { kOff, kLoopback, kOn };

/// The kind of device that programs see. The wire protocol is iWARP in either case.
enum class Persona : std::uint8_t {
  kIwarp,  ///< an RNIC
  kRoce,   ///< a channel adapter on Ethernet with RoCE v2 GIDs, like the kernel's rxe
};

/// The device that --device or --devices requests, by its name.
struct DeviceChoice {
  std::string name;
  std::string where;  ///< a network interface, an IP address, or empty for all interfaces
};

/// The maximum number of devices.
inline constexpr std::uint16_t kMaxDevices = 32;

/// The highest port offset. It maps port 1024 of a program, which is the lowest port that needs no
/// root, to TCP port 65535.
inline constexpr std::uint16_t kMaxPortOffset = 64511;

/// TLS below MPA.
struct TlsSettings {
  std::string demand;       ///< "on" or "off"; if empty, TLS is on if any other member is set
  std::string certificate;  ///< a file path, like every member below except `peers`
  std::string key;
  std::string authorities;
  std::string peers;  ///< accepted names of peers, separated by commas
  std::string shared_keys;

  bool refused() const { return demand == "off" || demand == "0"; }
  /// Returns whether TLS is requested: a member is set and `demand` is not off. An invalid `demand`
  /// counts as a request, so that a typing error cannot disable TLS.
  bool wanted() const {
    const bool any = !demand.empty() || !certificate.empty() || !key.empty() ||
                     !authorities.empty() || !peers.empty() || !shared_keys.empty();
    return any && !refused();
  }
};

struct Settings {
  /// Options of each connection.
  verbs::ConnectionOptions connection;
  bool fall_back_to_revision_1 = true;
  std::string congestion;  ///< TCP congestion control; if empty, see net::ConnectOptions
  std::string trace;       ///< path of the capture or log to write; may be empty
  TlsSettings tls;

  Persona persona = Persona::kIwarp;
  /// The card as which programs see the device; null for the profile of `persona`.
  std::shared_ptr<const profiles::Profile> profile;
  std::string like;                   ///< the text from which `profile` was loaded
  std::vector<DeviceChoice> devices;  ///< if empty, there are `device_count` devices
  std::uint16_t device_count = 1;
  /// kRoce: 127.0.0.1 and ::1 are GIDs even if there are other addresses.
  bool list_loopback = false;
  bool presence = true;  ///< programs find the device's files below /sys and /dev
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      ports;  ///< first and last TCP port from which to choose if port 0 is requested
  std::uint16_t port_offset = 0;  ///< TCP port minus the port that a program passes to rdma_cm
  OutOfBandPeers out_of_band = OutOfBandPeers::kLoopback;
  bool careful = false;         ///< report calls that would fail on hardware or with other timing
  std::string careful_reports;  ///< path of a file for the reports; may be empty
  /// What the device does that the standards permit and that programs rarely see; if empty,
  /// nothing.
  std::optional<Adversary> adversary;
  std::string adversary_record;  ///< path of a file for what the adversary did; may be empty
  std::string fault;             ///< path of a fault plan; may be empty
  std::optional<std::uint64_t> fault_seed;  ///< seed that replaces the seed in the fault plan
  std::string fault_socket;  ///< path of a socket that accepts fault rules; may be empty
  std::string metrics;       ///< address at which to serve statistics; may be empty
  /// Level of the log on standard error. An unsupported feature that a program requests is a
  /// warning; events of connections are information.
  verbs::LogLevel log = verbs::LogLevel::kWarning;
  verbs::LogFormat log_format = verbs::LogFormat::kText;
};

}  // namespace iwarp::options
