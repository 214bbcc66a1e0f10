// SPDX-License-Identifier: Apache-2.0
// A session as a capture: a pcap file in memory, and its explanation by iwarp explain, as JSON.
#pragma once

#include <string>
#include <vector>

#include "lab/session.hpp"

namespace iwarp::apps::lab {

/// All that was sent so far, damage of the link included, as one TCP connection.
std::vector<std::byte> pcap_of(const Session& session);
/// Returns the explanation as the JSON of apps/frames, one object to a line.
std::string explained(const Session& session);
/// Returns the session itself as one JSON object: both ends, the octets in flight, the actions so
/// far.
std::string state_json(Session& session);

}  // namespace iwarp::apps::lab
