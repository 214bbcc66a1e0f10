// SPDX-License-Identifier: Apache-2.0
// What the user says with IWARP_* variables: how connections shall be, what is recorded, what is
// allowed. Read once per process; a value that makes no sense is named on standard error, and the
// default holds. The words are those of the options of `iwarp run`, which sets these variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::rdma_core {

/// Bring-up without rdma_cm (ibv_rc_pingpong, perftest without -R): with nobody, with programs of
/// this host, with those of others, too.
enum class OutOfBandPeers : std::uint8_t { kOff, kLoopback, kOn };

/// What kind of device programs see. On the wire it is iWARP, whichever it is.
enum class Persona : std::uint8_t {
  kIwarp,  ///< an RNIC
  kRoce,   ///< a channel adapter on Ethernet with RoCE v2 GIDs, as the kernel's rxe shows itself
};

/// Leaves room for the 64,512 ports that need no root.
inline constexpr std::uint16_t kMaxPortOffset = 64511;

/// TLS below MPA, in the words of `iwarp run`.
struct TlsSettings {
  std::string demand;       ///< what IWARP_TLS says; empty: nothing
  std::string certificate;  ///< a file, as all but `peers`
  std::string key;
  std::string authorities;
  std::string peers;  ///< names, with commas between
  std::string shared_keys;

  bool refused() const { return demand == "off" || demand == "0"; }
  /// With any of them, unless IWARP_TLS says no. Nonsense there is no reason to do without.
  bool wanted() const {
    const bool any = !demand.empty() || !certificate.empty() || !key.empty() ||
                     !authorities.empty() || !peers.empty() || !shared_keys.empty();
    return any && !refused();
  }
};

struct Settings {
  /// How each connection is set up and run. Unlike elsewhere RTR is by Write, because under rdma_cm
  /// the server may speak first (RFC 6581 section 4), and a Send without a receive waits, because
  /// programs written for InfiniBand rely on its retries. With IWARP_AS=roce completions are
  /// acknowledged, and `out_of_band` is kOn.
  verbs::ConnectionOptions connection;
  bool fall_back_to_revision_1 = true;
  Persona persona = Persona::kIwarp;
  bool list_loopback = false;  ///< as RoCE: 127.0.0.1 and ::1 are GIDs beside other addresses
  bool presence = true;        ///< below /sys and /dev, for programs that look there by hand
  std::string congestion;      ///< empty: the system's
  std::string trace;           ///< file; empty: no trace
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      ports;                      ///< for port 0; both inclusive; TCP's
  std::uint16_t port_offset = 0;  ///< what the TCP port is more than that of rdma_cm
  OutOfBandPeers out_of_band = OutOfBandPeers::kLoopback;
  /// On standard error. A feature that a program asked for and iWARP does not have is a warning,
  /// what becomes of each connection is information.
  verbs::LogLevel log = verbs::LogLevel::kWarning;
  verbs::LogFormat log_format = verbs::LogFormat::kText;
  bool careful = false;                     ///< reports what fails on hardware or another day
  std::string careful_reports;              ///< a file that has a line for each; empty: none
  std::string fault;                        ///< the file of a plan of faults; empty: none
  std::string fault_socket;                 ///< for rules from outside; empty: none
  std::optional<std::uint64_t> fault_seed;  ///< in place of the file's
  TlsSettings tls;
  std::string metrics;  ///< where figures are to be had; empty: nowhere
};

using Environment = std::function<const char*(const char* name)>;

/// `complain` gets one line for each value that makes no sense.
Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain);
/// The line of a record as this process writes it, line feed included.
std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format);
/// The settings of this process, from secure_getenv(3) at the first call: a program with the rights
/// of another user writes no file that its caller names.
const Settings& settings();

}  // namespace iwarp::rdma_core
