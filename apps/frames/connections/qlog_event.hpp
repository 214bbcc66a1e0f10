// SPDX-License-Identifier: Apache-2.0
// The data of our qlog events (rfc-notes/qlog.md) as values. nullopt: a member is missing, is of
// another kind, or out of bounds; others may be there.
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
/// `name`: without the name space.
std::optional<verbs::LocalEvent> local_event(std::string_view name, const nlohmann::json& data);

}  // namespace iwarp::apps::frames
