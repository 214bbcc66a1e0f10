// SPDX-License-Identifier: Apache-2.0
// A frame in one line, and what is to be said of it besides. Text from the wire does not get into
// these lines: numbers and our own words only.
#pragma once

#include <string>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// "RDMA Write #3, 64 octets to STag=0x11223344 TO=0x1000".
std::string frame_line(const Explained& e);

/// What joins it to other frames: "answers frame 7", where its STag came from.
std::vector<std::string> relations(const Explained& e);

/// "[DDP-31] the MSN does not follow the one before: 7 where 6 is due".
std::string violation_line(const Violation& violation);

/// "good", "BAD", "off", "unknown".
const char* crc_word(CrcVerdict crc);

}  // namespace iwarp::apps::frames
