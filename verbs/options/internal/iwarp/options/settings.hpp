// SPDX-License-Identifier: Apache-2.0
// Settings: what the options and variables of this stack set, for one command or for the process of
// a program under `iwarp run`. The rows of options.hpp say which option sets what. The defaults
// here are those of the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::options {

/// Which peers a queue pair may reach without rdma_cm (ibv_rc_pingpong, perftest without -R): none,
/// programs of this host, or programs of other hosts too.
enum class OutOfBandPeers : std::uint8_t { kOff, kLoopback, kOn };

/// What kind of device programs see. On the wire it is iWARP in either case.
enum class Persona : std::uint8_t {
  kIwarp,  ///< an RNIC
  kRoce,   ///< a channel adapter on Ethernet with RoCE v2 GIDs, like the kernel's rxe
};

/// Leaves room for the 64,512 ports that need no root.
inline constexpr std::uint16_t kMaxPortOffset = 64511;

/// TLS below MPA.
struct TlsSettings {
  std::string demand;       ///< "on", "off", or empty: the files decide
  std::string certificate;  ///< a file, like all but `peers`
  std::string key;
  std::string authorities;
  std::string peers;  ///< names, separated by commas
  std::string shared_keys;

  bool refused() const { return demand == "off" || demand == "0"; }
  /// Any of them asks for TLS, unless `demand` refuses it. A demand that makes no sense is no
  /// reason to go without.
  bool wanted() const {
    const bool any = !demand.empty() || !certificate.empty() || !key.empty() ||
                     !authorities.empty() || !peers.empty() || !shared_keys.empty();
    return any && !refused();
  }
};

struct Settings {
  /// How each connection is set up and run.
  verbs::ConnectionOptions connection;
  bool fall_back_to_revision_1 = true;
  std::string congestion;  ///< empty: the system's
  std::string trace;       ///< capture or log; empty: none
  TlsSettings tls;

  Persona persona = Persona::kIwarp;
  bool list_loopback = false;  ///< as RoCE: 127.0.0.1 and ::1 are GIDs beside other addresses
  bool presence = true;        ///< below /sys and /dev, for programs that look there by hand
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      ports;                      ///< TCP ports for port 0, both inclusive
  std::uint16_t port_offset = 0;  ///< TCP port minus the port of rdma_cm
  OutOfBandPeers out_of_band = OutOfBandPeers::kLoopback;
  bool careful = false;                     ///< reports what would fail on hardware or another day
  std::string careful_reports;              ///< a file that gets a line for each; empty: none
  std::string fault;                        ///< the file of a plan of faults; empty: none
  std::optional<std::uint64_t> fault_seed;  ///< replaces the file's
  std::string fault_socket;                 ///< accepts rules from outside; empty: none
  std::string metrics;                      ///< where figures are served; empty: nowhere
  /// On standard error. A feature that a program asked for and iWARP does not have is a warning,
  /// the course of each connection is information.
  verbs::LogLevel log = verbs::LogLevel::kWarning;
  verbs::LogFormat log_format = verbs::LogFormat::kText;
};

}  // namespace iwarp::options
