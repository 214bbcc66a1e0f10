// SPDX-License-Identifier: Apache-2.0
// The options that all commands take: how the connection shall be, and where to record it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line/command.hpp"
#include "common/connection/tls.hpp"
#include "iwarp/net/connection_manager.hpp"

namespace iwarp::apps {

/// The values as the command line gives them.
struct CommonOptions {
  std::string mpa_rev = "2";
  std::string crc = "on";
  bool markers = false;
  std::string rtr = "none";
  std::string fpdu = "emss";
  std::string placement = "verified";
  std::string extensions = "auto";
  std::string completions = "sent";
  unsigned first_fpdu_delay_ms = 0;
  unsigned gather_delay_us = 50;
  std::string congestion;  ///< empty: the system's
  std::string trace;       ///< capture or log; empty: none
  TlsArguments tls;        ///< of commands that have add_tls_options()
};

/// Adds --mpa-rev, --crc, --markers, --rtr, --fpdu, --placement, --extensions, --completions,
/// --first-fpdu-delay, --gather-delay, --congestion and --trace to a command.
void add_common_options(cli::Command& command, CommonOptions& options);

/// What they mean for a connection. UsageError: they contradict each other.
verbs::ConnectionOptions connection_options(const CommonOptions& options);

/// The same for the end that connects; capture file and TLS included. Error: as of TLS.
net::ConnectOptions connect_options(const CommonOptions& options);

/// Empty: TCP here has that congestion control, and permits it; else what to tell the user.
std::string congestion_fault(const std::string& name);

/// "emss": 0, "max": the largest ULPDU, or a number in 128..64768; nullopt: none of these.
std::optional<std::size_t> parse_fpdu(std::string_view text);

/// An address for connecting or listening. UsageError: it is none.
net::Address address_argument(const std::string& text, std::uint16_t default_port);

inline constexpr std::uint16_t kFilePort = 7480;  ///< serve, get, put
inline constexpr std::uint16_t kPingPort = 7174;  ///< ping: rping's port
inline constexpr std::uint16_t kPerfPort = 7175;  ///< perf: its control connection

}  // namespace iwarp::apps
