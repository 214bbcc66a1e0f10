// SPDX-License-Identifier: Apache-2.0
// Settings: the values of the options and variables, for one command or for the process of a
// program under `iwarp run`. The rows of options.hpp define which option sets which member. The
// defaults here are those of the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::options {

/// Which peers a queue pair may reach without rdma_cm (ibv_rc_pingpong, perftest without -R): none,
/// programs on this host, or programs on any host.
enum class OutOfBandPeers : std::uint8_t { kOff, kLoopback, kOn };

/// The kind of device that programs see. On the wire it is iWARP in either case.
enum class Persona : std::uint8_t {
  kIwarp,  ///< an RNIC
  kRoce,   ///< a channel adapter on Ethernet with RoCE v2 GIDs, like the kernel's rxe
};

/// With this offset program port 1024, the first of the 64,512 that need no root, is TCP port
/// 65535.
inline constexpr std::uint16_t kMaxPortOffset = 64511;

/// TLS below MPA.
struct TlsSettings {
  std::string demand;       ///< "on", "off", or empty: on if any other member is set
  std::string certificate;  ///< a path, like all members below except `peers`
  std::string key;
  std::string authorities;
  std::string peers;  ///< names, separated by commas
  std::string shared_keys;

  bool refused() const { return demand == "off" || demand == "0"; }
  /// Returns whether TLS is requested: a member is set and `demand` is not off. An invalid `demand`
  /// is a request, so that a typing error cannot disable TLS.
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
  std::string congestion;  ///< TCP congestion control; empty: the system's default
  std::string trace;       ///< path of a capture or log; empty: none
  TlsSettings tls;

  Persona persona = Persona::kIwarp;
  bool list_loopback = false;  ///< as RoCE: 127.0.0.1 and ::1 are GIDs even with other addresses
  bool presence = true;        ///< programs find the device's files below /sys and /dev
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      ports;                      ///< TCP ports for port 0, both inclusive
  std::uint16_t port_offset = 0;  ///< TCP port minus the port of rdma_cm
  OutOfBandPeers out_of_band = OutOfBandPeers::kLoopback;
  bool careful = false;                     ///< reports what would fail on hardware or another day
  std::string careful_reports;              ///< path of a file with a line per report; empty: none
  std::string fault;                        ///< path of a fault plan; empty: none
  std::optional<std::uint64_t> fault_seed;  ///< replaces the seed in the plan
  std::string fault_socket;                 ///< path of a socket that accepts rules; empty: none
  std::string metrics;                      ///< address at which statistics are served; empty: none
  /// Level of the log on standard error. An unsupported feature that a program requests is a
  /// warning, events of connections are information.
  verbs::LogLevel log = verbs::LogLevel::kWarning;
  verbs::LogFormat log_format = verbs::LogFormat::kText;
};

}  // namespace iwarp::options
