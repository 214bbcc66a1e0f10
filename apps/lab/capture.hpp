// SPDX-License-Identifier: Apache-2.0
// Exports a session as a pcap file in memory, as the JSON of `iwarp explain`, and as the state of
// both ends.
#pragma once

#include <string>
#include <vector>

#include "lab/session.hpp"

namespace iwarp::apps::lab {

/// Returns a pcap file with everything that both ends have sent so far, as one TCP connection. The
/// file contains the octets as they arrive, including the bits that the user has flipped.
std::vector<std::byte> pcap_of(const Session& session);
/// Returns the frames of the capture that pcap_of() returns, as the JSON of apps/frames: one object
/// per line, as `iwarp explain` writes it.
std::string explained(const Session& session);
/// Returns the current state of both ends, and the segments in flight, as one JSON object.
std::string state_json(Session& session);

}  // namespace iwarp::apps::lab
