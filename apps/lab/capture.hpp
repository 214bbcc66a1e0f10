// SPDX-License-Identifier: Apache-2.0
// A session as a capture: a pcap file in memory, and what iwarp explain says of it, as JSON.
#pragma once

#include <string>
#include <vector>

#include "lab/session.hpp"

namespace iwarp::apps::lab {

/// All that was sent so far, damage of the link included, as one TCP connection.
std::vector<std::byte> pcap_of(const Session& session);
/// The JSON of apps/frames, a line each, of the same.
std::string explained(const Session& session);
/// The session itself as one JSON object: both ends, what is in flight, what was done.
std::string state_json(Session& session);

}  // namespace iwarp::apps::lab
