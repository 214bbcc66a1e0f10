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

namespace iwarp::rdma_core {

/// Bring-up without rdma_cm (ibv_rc_pingpong, perftest without -R): with whom.
enum class OutOfBandPeers : std::uint8_t { kOff, kLoopback, kOn };

/// Leaves room for the 64,512 ports that need no root.
inline constexpr std::uint16_t kMaxPortOffset = 64511;

/// What is said on standard error.
enum class Log : std::uint8_t {
  kOff,
  kRefusals,     ///< one line for each feature that a program asked for and iWARP does not have
  kConnections,  ///< also what becomes of each connection
};

struct Settings {
  /// How each connection is set up and run. Unlike elsewhere RTR is by Write, because under rdma_cm
  /// the server may speak first (RFC 6581 section 4), and a Send without a receive waits, because
  /// programs written for InfiniBand rely on its retries.
  verbs::ConnectionOptions connection;
  bool fall_back_to_revision_1 = true;
  std::string congestion;  ///< empty: the system's
  std::string trace;       ///< file; empty: no trace
  std::optional<std::pair<std::uint16_t, std::uint16_t>>
      ports;                      ///< for port 0; both inclusive; TCP's
  std::uint16_t port_offset = 0;  ///< what the TCP port is more than that of rdma_cm
  OutOfBandPeers out_of_band = OutOfBandPeers::kLoopback;
  Log log = Log::kRefusals;
};

using Environment = std::function<const char*(const char* name)>;

/// `complain` gets one line for each value that makes no sense.
Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain);
/// The settings of this process, from getenv(3) at the first call.
const Settings& settings();

}  // namespace iwarp::rdma_core
