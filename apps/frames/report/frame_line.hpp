// SPDX-License-Identifier: Apache-2.0
// Describes a frame in one line, with further remarks about it. The lines contain numbers and fixed
// words, but no text from the wire.
#pragma once

#include <string>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Returns "RDMA Write #3, 64 octets to STag=0x11223344 TO=0x1000", for example.
std::string frame_line(const Explained& e);

/// Returns the relations of the frame to other frames: "answers frame 7", or where its STag was
/// advertised.
std::vector<std::string> relations(const Explained& e);

/// Returns "[DDP-31] the MSN does not follow the one before: 7 where 6 is due", for example.
std::string violation_line(const Violation& violation);

/// Returns "good", "BAD", "off" or "unknown".
const char* crc_word(CrcVerdict crc);

}  // namespace iwarp::apps::frames
