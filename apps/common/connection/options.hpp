// SPDX-License-Identifier: Apache-2.0
// Adds the options of the table in verbs/options to a command, and converts the resulting settings
// to the options of a connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "command_line/command.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/options/options.hpp"

namespace iwarp::apps {

/// The settings that the options of a command change. A command uses only the settings for which it
/// has options.
using CommonOptions = options::Settings;

/// Adds all options of a group. `settings` contains the defaults that --help shows, and must exist
/// until the command has run.
void add_options(cli::Command& command, options::Group group, CommonOptions& settings);
/// Adds the option that corresponds to one IWARP_* variable.
void add_option(cli::Command& command, std::string_view variable, CommonOptions& settings);
/// Adds the options of Group::kConnection, under their heading.
void add_common_options(cli::Command& command, CommonOptions& settings);
/// Adds the options of Group::kTls, under their heading.
void add_tls_options(cli::Command& command, CommonOptions& settings);

/// Converts a word from the command line to the form that the table of options expects: converts a
/// size with a unit to a plain number.
std::string spelled_out(const options::Option& option, const std::string& word);
/// Returns the name that JSON output uses for the option, for example "gather_delay".
std::string json_name(const options::Option& option);
/// Returns the value of the option in `settings` as text.
std::string shown(std::string_view variable, const CommonOptions& settings);

/// Returns the options of a connection. Throws UsageError if the settings contradict each other.
verbs::ConnectionOptions connection_options(const CommonOptions& options);

/// Returns the options for the end that connects, including the capture file and TLS. Throws Error
/// if TLS cannot be set up.
net::ConnectOptions connect_options(const CommonOptions& options);

/// Checks whether TCP on this machine supports the congestion control `name`. Returns an error
/// text, or an empty string if it does.
std::string congestion_fault(const std::string& name);

/// Parses an address for connecting or listening. Throws UsageError if `text` is not an address.
net::Address address_argument(const std::string& text, std::uint16_t default_port);

inline constexpr std::uint16_t kFilePort = 7480;  ///< default port of `iwarp serve`
inline constexpr std::uint16_t kPingPort = 7174;  ///< default port of `iwarp ping`, and of rping
inline constexpr std::uint16_t kPerfPort = 7175;  ///< default port of `iwarp perf`

}  // namespace iwarp::apps
