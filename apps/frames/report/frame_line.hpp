// SPDX-License-Identifier: Apache-2.0
// A frame in one line, and further remarks about it. No text from the wire gets into these lines,
// only numbers and fixed words.
#pragma once

#include <string>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Returns "RDMA Write #3, 64 octets to STag=0x11223344 TO=0x1000", for example.
std::string frame_line(const Explained& e);

/// Returns its relations to other frames: "answers frame 7", or where its STag was advertised.
std::vector<std::string> relations(const Explained& e);

/// Returns "[DDP-31] the MSN does not follow the one before: 7 where 6 is due", for example.
std::string violation_line(const Violation& violation);

/// Returns "good", "BAD", "off" or "unknown".
const char* crc_word(CrcVerdict crc);

}  // namespace iwarp::apps::frames
