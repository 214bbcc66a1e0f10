// SPDX-License-Identifier: Apache-2.0
// Exports a session: as a pcap file in memory, as the JSON of iwarp explain, and as the state of
// both ends.
#pragma once

#include <string>
#include <vector>

#include "lab/session.hpp"

namespace iwarp::apps::lab {

/// Returns a pcap file with everything that both ends have sent so far, as one TCP connection.
/// Octets that the user has damaged in flight appear damaged.
std::vector<std::byte> pcap_of(const Session& session);
/// Returns what iwarp explain finds in that capture, as the JSON of apps/frames: one object per
/// line.
std::string explained(const Session& session);
/// Returns the current state as one JSON object: both ends, and the segments in flight.
std::string state_json(Session& session);

}  // namespace iwarp::apps::lab
