// SPDX-License-Identifier: Apache-2.0
// Decodes the data of this stack's qlog events (rfc-notes/qlog.md). Each function returns nullopt
// if a member is missing, has the wrong type, or is out of bounds. Unknown members are ignored.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "frames/connections/logged_connections.hpp"

namespace iwarp::apps::frames {

struct LoggedOctets {
  std::uint64_t offset = 0;
  std::vector<std::byte> octets;
};
std::optional<LoggedOctets> octets_of(const nlohmann::json& data);
std::optional<LoggedConnections::Ends> ends_of(const nlohmann::json& data);
std::optional<std::vector<std::byte>> raw_octets_of(const nlohmann::json& data);
std::optional<LoggedConnections::Ends> datagram_ends_of(const nlohmann::json& data);
/// Decodes a local event. `name` is the name of the event without its name space "iwarp:".
std::optional<verbs::LocalEvent> local_event(std::string_view name, const nlohmann::json& data);

}  // namespace iwarp::apps::frames
