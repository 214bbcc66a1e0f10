// SPDX-License-Identifier: Apache-2.0
// From the table of options (verbs/options) to the command line of a command, and from what it sets
// to a connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "command_line/command.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/options/options.hpp"

namespace iwarp::apps {

/// What the options of a command set; a command uses the part that it has options for.
using CommonOptions = options::Settings;

/// Adds all options of a group. `settings` has the defaults that --help shows, and must outlive the
/// command's run.
void add_options(cli::Command& command, options::Group group, CommonOptions& settings);
/// Adds the option of one variable.
void add_option(cli::Command& command, std::string_view variable, CommonOptions& settings);
/// Adds the options of Group::kConnection, under their heading.
void add_common_options(cli::Command& command, CommonOptions& settings);
/// Adds the options of Group::kTls, under their heading.
void add_tls_options(cli::Command& command, CommonOptions& settings);

/// Returns the word of a command line as the table takes it: a size without its unit.
std::string spelled_out(const options::Option& option, const std::string& word);
/// Returns the name of an option in JSON: "gather_delay".
std::string json_name(const options::Option& option);
/// Returns an option's value in `settings`.
std::string shown(std::string_view variable, const CommonOptions& settings);

/// Returns the settings of a connection. UsageError: they contradict each other.
verbs::ConnectionOptions connection_options(const CommonOptions& options);

/// Returns the same for the end that connects, with capture file and TLS. Error: TLS cannot be set
/// up.
net::ConnectOptions connect_options(const CommonOptions& options);

/// Returns why TCP here does not take that congestion control; empty: it does.
std::string congestion_fault(const std::string& name);

/// An address for connecting or listening. UsageError: it is none.
net::Address address_argument(const std::string& text, std::uint16_t default_port);

inline constexpr std::uint16_t kFilePort = 7480;  ///< serve, get, put
inline constexpr std::uint16_t kPingPort = 7174;  ///< ping: rping's port
inline constexpr std::uint16_t kPerfPort = 7175;  ///< perf: its control connection

}  // namespace iwarp::apps
