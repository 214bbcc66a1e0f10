// SPDX-License-Identifier: Apache-2.0
// Describes a frame in one line, and its relations and violations in further lines. The text
// contains numbers and fixed words, but no text from the wire.
#pragma once

#include <string>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Returns a line such as "RDMA Write #3, 64 octets to STag=0x11223344 TO=0x1000".
std::string frame_line(const Explained& e);

/// Returns the relations of the frame to other frames, for example "answers frame 7". If the frame
/// uses an STag, they include the frame that has probably advertised this STag.
std::vector<std::string> relations(const Explained& e);

/// Returns a line such as "[DDP-31] the MSN does not follow the previous MSN: 7 instead of 6".
std::string violation_line(const Violation& violation);

/// Returns the result of the CRC check in a word: "good", "BAD", "off" or "unknown".
const char* crc_word(CrcVerdict crc);

}  // namespace iwarp::apps::frames
