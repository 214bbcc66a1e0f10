// SPDX-License-Identifier: Apache-2.0
// What a page draws beside the frames: fields with their octets, memory, the states of both ends.
#pragma once

#include "frames/model/ends.hpp"
#include "frames/model/fields.hpp"
#include "frames/model/memory.hpp"
#include "frames/report/frame_json.hpp"

namespace iwarp::apps::frames {

const char* name_of(Side side);

/// The rows that fields of frames refer to by their index.
Json field_table_json();
/// Each [row, value, [begin, size, ...]], of bits also first bit and number.
Json fields_json(const Explained& e);
Json access_json(const Access& access);
/// The buffers of each end.
Json memory_json(const MemoryBook& memory);
Json states_json(const Ends& ends);
Json changes_json(const std::vector<StateChange>& changes);

}  // namespace iwarp::apps::frames
