// SPDX-License-Identifier: Apache-2.0
// One frame as a JSON object.
#pragma once

#include <nlohmann/json.hpp>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

using Json = nlohmann::ordered_json;

/// Returns kind, mpa, ddp and rdmap of a frame, and its relations to other frames. STags, TOs and
/// other 64-bit values are strings of hexadecimal digits, because JSON's numbers are too small for
/// them.
Json frame_json(const Explained& e);

}  // namespace iwarp::apps::frames
