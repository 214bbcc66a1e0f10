// SPDX-License-Identifier: Apache-2.0
// The JSON that a page draws in addition to the frames: fields with their octets, memory, and the
// states of both ends.
#pragma once

#include "frames/model/ends.hpp"
#include "frames/model/fields.hpp"
#include "frames/model/memory.hpp"
#include "frames/report/frame_json.hpp"

namespace iwarp::apps::frames {

const char* name_of(Side side);

/// Returns the table of all fields. fields_json() refers to its rows by index.
Json field_table_json();
/// Returns each field of a frame as [row, value, [begin, size, ...]]. For a field of bits, the
/// first bit and the number of bits follow.
Json fields_json(const Explained& e);
Json access_json(const Access& access);
/// Returns the regions of memory that each end's peer accessed.
Json memory_json(const MemoryBook& memory);
Json states_json(const Ends& ends);
Json changes_json(const std::vector<StateChange>& changes);

}  // namespace iwarp::apps::frames
