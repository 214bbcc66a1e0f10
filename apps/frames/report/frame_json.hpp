// SPDX-License-Identifier: Apache-2.0
// Converts a frame to a JSON object.
#pragma once

#include <nlohmann/json.hpp>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

using Json = nlohmann::ordered_json;

/// Returns the members "kind", "mpa", "ddp" and "rdmap" of a frame, and its relations to other
/// frames. STags, TOs and other 64-bit values are strings of hexadecimal digits: many JSON readers
/// store numbers as doubles, which cannot represent these values exactly.
Json frame_json(const Explained& e);

}  // namespace iwarp::apps::frames
