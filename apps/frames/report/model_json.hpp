// SPDX-License-Identifier: Apache-2.0
// The JSON that a page draws in addition to the frames: fields with their octets, the memory that
// was accessed, and the states of both ends.
#pragma once

#include "frames/model/ends.hpp"
#include "frames/model/fields.hpp"
#include "frames/model/memory.hpp"
#include "frames/report/frame_json.hpp"

namespace iwarp::apps::frames {

const char* name_of(Side side);

/// Returns the table of all fields. fields_json() refers to the rows of this table by index.
Json field_table_json();
/// Returns each field of a frame as [row, value, [begin, size, ...]]. For a field that does not
/// fill its octets, the array also has the first bit and the number of bits.
Json fields_json(const Explained& e);
Json access_json(const Access& access);
/// Returns, for each end, the regions of its memory that the peer has accessed.
Json memory_json(const MemoryBook& memory);
Json states_json(const Ends& ends);
Json changes_json(const std::vector<StateChange>& changes);

}  // namespace iwarp::apps::frames
